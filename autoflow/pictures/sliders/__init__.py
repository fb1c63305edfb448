"""Pictures with sliders."""
