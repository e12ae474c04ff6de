"""The routes of model tracks: entries, uploads, work for devices, public boards. Start with `plugin`."""
