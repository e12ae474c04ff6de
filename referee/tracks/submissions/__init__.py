"""Model tracks: from a model that a team hands in to its place on a board. What a run is worth: `referee.tracks`."""
