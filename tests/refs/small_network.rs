use peloton::classifier::Network;
pub const SMALL: Network<4, 4> = Network {
    centre: [0.0; 4],
    scale: [1.0; 4],
    hidden: [[0.0; 4]; 4],
    hidden_bias: [0.0; 4],
    output: [0.0; 4],
    output_bias: 0.0,
    threshold: 0.5,
};
