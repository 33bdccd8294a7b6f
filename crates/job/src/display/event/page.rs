pub fn html(_scene: &super::Scene) -> String {
    String::new()
}
