PRAGMA user_version = 8;
BEGIN TRANSACTION;
CREATE TABLE "checks" (
   "run" INTEGER,
   "score" INTEGER,
   "code" TEXT,
   "ok" INTEGER,
   "severity" TEXT,
   "sentence" TEXT,
   "figures" TEXT
);
CREATE TABLE "events" (
   "id" INTEGER PRIMARY KEY,
   "utc" TEXT,
   "run" INTEGER,
   "kind" TEXT,
   "detail" TEXT
);
CREATE TABLE "image_orders" (
   "run" INTEGER PRIMARY KEY,
   "numbers" BLOB
);
INSERT INTO "image_orders" VALUES(1,X'01000000000000000200000000000000030000000000000004000000000000000500000000000000');
CREATE TABLE "intervals" (
   "score" INTEGER PRIMARY KEY REFERENCES "scores"("id"),
   "level" REAL,
   "resamples" INTEGER,
   "seed" INTEGER,
   "map_low" REAL,
   "map_high" REAL,
   "score_low" REAL,
   "score_high" REAL,
   "energy_uncertainty" REAL
);
CREATE TABLE "measurements" (
   "submission" INTEGER PRIMARY KEY REFERENCES "submissions"("id"),
   "measured_utc" TEXT NOT NULL,
   "valid" INTEGER NOT NULL,
   "sentence" TEXT NOT NULL,
   "device" TEXT,
   "meter" TEXT,
   "metric" REAL,
   "measured" TEXT,
   "figures" TEXT,
   "result" BLOB
);
CREATE TABLE "posts" (
   "id" INTEGER PRIMARY KEY,
   "run" INTEGER NOT NULL REFERENCES "runs"("id"),
   "received_utc" TEXT NOT NULL,
   "elapsed_s" REAL NOT NULL,
   "sha256" TEXT NOT NULL,
   "idempotency_key" TEXT,
   "row_count" INTEGER NOT NULL,
   "received_total" INTEGER,
   "rows" BLOB NOT NULL
);
CREATE TABLE "provisional" (
   "run" INTEGER PRIMARY KEY,
   "utc" TEXT,
   "map" REAL,
   "energy_wh" REAL,
   "score" REAL,
   "detections" INTEGER
);
CREATE TABLE "readings" (
   "run" INTEGER,
   "elapsed_s" REAL,
   "utc" TEXT,
   "voltage_v" REAL,
   "current_a" REAL,
   "apparent_va" REAL,
   "power_w" REAL,
   "power_factor" REAL,
   "energy_wh" REAL,
   "integrator_s" REAL,
   "state" TEXT,
   "flags" TEXT
);
INSERT INTO "readings" VALUES(1,0.5,'2026-05-04T09:16:40.500000+00:00',120.0,0.3,36.0,36.0,1.0,10.005,1000.0,'START','');
INSERT INTO "readings" VALUES(1,1.0,'2026-05-04T09:16:41+00:00',120.0,9e999,36.0,NULL,1.0,10.01,1001.0,'START','over_range,current_peak_over');
INSERT INTO "readings" VALUES(1,1.5,'2026-05-04T09:16:41.500000+00:00',120.0,0.3,36.0,36.0,1.0,10.015,1001.0,'START','');
CREATE TABLE "runs" (
   "id" INTEGER PRIMARY KEY,
   "team" TEXT NOT NULL REFERENCES "teams"("name"),
   "station" TEXT NOT NULL,
   "state" TEXT NOT NULL,
   "armed_utc" TEXT NOT NULL,
   "testset_digest" TEXT NOT NULL,
   "images" INTEGER NOT NULL,
   "window_s" REAL NOT NULL,
   "setup" TEXT,
   "meter_identity" TEXT,
   "opened_utc" TEXT,
   "start_s" REAL,
   "boot_id" TEXT,
   "closed_utc" TEXT,
   "closed_by" TEXT,
   "elapsed_s" REAL,
   "energy_wh" REAL,
   "integrator_s" REAL,
   "void_reason" TEXT,
   "meter_changes" TEXT,
   "idle_power_w" REAL,
   "heat" TEXT
);
INSERT INTO "runs" VALUES(1,'otters','one','armed','2026-05-04T09:00:00+00:00','dddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddd',5,600.0,'{"voltage_range_v": 150.0, "current_range_a": 0.5, "update_interval_s": 0.1, "integrator_timer_s": 600, "mode": "rms", "crest_factor": 3, "line_filter": false, "frequency_filter": false, "synchronize": "voltage", "element": "1"}','YOKOGAWA WT310 C2PH13047V F1.03',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
CREATE TABLE "scores" (
   "id" INTEGER PRIMARY KEY,
   "run" INTEGER,
   "judged_utc" TEXT,
   "map" REAL,
   "energy_wh" REAL,
   "score" REAL,
   "mean_power_w" REAL,
   "images" INTEGER,
   "detections" INTEGER,
   "ap" TEXT,
   "signature" TEXT
);
CREATE TABLE "served" (
   "run" INTEGER,
   "image" INTEGER,
   "elapsed_s" REAL,
   "bytes" INTEGER
);
CREATE TABLE "submissions" (
   "id" INTEGER PRIMARY KEY,
   "accepted_utc" TEXT NOT NULL,
   "track" TEXT NOT NULL,
   "team" TEXT NOT NULL REFERENCES "teams"("name"),
   "split" TEXT NOT NULL,
   "build" TEXT NOT NULL,
   "model_file" TEXT NOT NULL,
   "model_sha256" TEXT NOT NULL,
   "testset_digest" TEXT,
   "counts" INTEGER NOT NULL,
   "withdrawn" TEXT
);
CREATE TABLE "teams" (
   "name" TEXT PRIMARY KEY,
   "password_hash" TEXT NOT NULL,
   "disabled" INTEGER NOT NULL,
   "created_utc" TEXT NOT NULL
);
INSERT INTO "teams" VALUES('otters','no hash',0,'2026-05-04T09:00:00+00:00');
CREATE INDEX "idx_posts_run"
    ON "posts" ("run");
CREATE INDEX "idx_readings_run"
    ON "readings" ("run");
CREATE INDEX "idx_served_run"
    ON "served" ("run");
CREATE INDEX "idx_checks_run"
    ON "checks" ("run");
CREATE INDEX "idx_scores_run"
    ON "scores" ("run");
CREATE INDEX "idx_events_run"
    ON "events" ("run");
CREATE INDEX "idx_submissions_track_team"
    ON "submissions" ("track", "team");
CREATE UNIQUE INDEX posts_by_key ON posts (run, idempotency_key) WHERE idempotency_key IS NOT NULL;
COMMIT;
