"""Records of selections, calibration from them, and evaluation."""
