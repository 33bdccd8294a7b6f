//! Velo geometry.
