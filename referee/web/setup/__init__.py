"""The pages that set up a contest and change its settings, and the app that serves them until there is a contest.

`setup_server` serves a folder without a contest, `setup_app` is its app. The pages of the single steps (`rule_page`,
`station_page`, `team_page` ...) are those of /operator/settings, too. Start with `settings_desk`. Knows no SQL and no
rule; what is wrong with a setting is said by `referee.findings`.
"""
