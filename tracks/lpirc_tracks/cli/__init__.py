"""The commands of model tracks: `referee model`, `device`, `suite` and `frontier`. Start with `model`."""
