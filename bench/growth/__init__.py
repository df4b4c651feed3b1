"""What the plane pays for one change, against how much there is that did not change."""
