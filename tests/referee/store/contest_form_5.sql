PRAGMA user_version = 5;
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
INSERT INTO "posts" VALUES(1,1,'2026-05-04T09:00:00+00:00',1.0,'s-first','first',2,2,X'000000000000F03F000000000000F03F000000000000F03F000000000000F03F000000000000F03F000000000000F03F000000000000F03F000000000000F03F000000000000F03F000000000000F03F000000000000F03F000000000000F03F000000000000F03F000000000000F03F');
INSERT INTO "posts" VALUES(2,1,'2026-05-04T09:00:00+00:00',1.0,'s-None',NULL,2,4,X'000000000000F03F000000000000F03F000000000000F03F000000000000F03F000000000000F03F000000000000F03F000000000000F03F000000000000F03F000000000000F03F000000000000F03F000000000000F03F000000000000F03F000000000000F03F000000000000F03F');
INSERT INTO "posts" VALUES(3,1,'2026-05-04T09:00:00+00:00',1.0,'s-None',NULL,2,6,X'000000000000F03F000000000000F03F000000000000F03F000000000000F03F000000000000F03F000000000000F03F000000000000F03F000000000000F03F000000000000F03F000000000000F03F000000000000F03F000000000000F03F000000000000F03F000000000000F03F');
INSERT INTO "posts" VALUES(4,1,'2026-05-04T09:00:00+00:00',1.0,'s-second','second',2,8,X'000000000000F03F000000000000F03F000000000000F03F000000000000F03F000000000000F03F000000000000F03F000000000000F03F000000000000F03F000000000000F03F000000000000F03F000000000000F03F000000000000F03F000000000000F03F000000000000F03F');
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
INSERT INTO "runs" VALUES(1,'otters','one','armed','2026-05-04T09:00:00+00:00','d',5,600.0,'{"voltage_range_v": null, "current_range_a": null, "update_interval_s": 0.25, "integrator_timer_s": 600, "mode": "rms", "crest_factor": 3, "line_filter": false, "frequency_filter": false, "synchronize": "voltage", "element": "1"}',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
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
CREATE TABLE "teams" (
   "name" TEXT PRIMARY KEY,
   "password_hash" TEXT NOT NULL,
   "disabled" INTEGER NOT NULL,
   "created_utc" TEXT NOT NULL
);
INSERT INTO "teams" VALUES('otters','hash',0,'2026-05-04T09:00:00+00:00');
CREATE INDEX "idx_posts_run"
    ON "posts" ("run");
CREATE UNIQUE INDEX "idx_posts_run_idempotency_key"
    ON "posts" ("run", "idempotency_key");
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
COMMIT;
