PRAGMA user_version = 7;
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
INSERT INTO "events" VALUES(1,'2026-05-04T09:00:00+00:00',1,'meter-start','{}');
INSERT INTO "events" VALUES(2,'2026-05-04T09:00:00+00:00',1,'energy-missing','{"reason": "The link to the meter TCPIP::10.0.0.5::INSTR is lost. The meter keeps it until its reset; it is read at the server''s next start or the station''s next arming."}');
INSERT INTO "events" VALUES(3,'2026-05-04T09:00:00+00:00',2,'meter-start','{}');
INSERT INTO "events" VALUES(4,'2026-05-04T09:00:00+00:00',2,'energy-missing','{"reason": "Another meter answers: YOKOGAWA WT310 OTHER F1.03, not YOKOGAWA WT310 C2PH13047V F1.03. The meter keeps it until its reset; it is read at the server''s next start or the station''s next arming."}');
INSERT INTO "events" VALUES(5,'2026-05-04T09:00:00+00:00',3,'meter-start','{}');
INSERT INTO "events" VALUES(6,'2026-05-04T09:00:00+00:00',3,'energy-missing','{"reason": "The meter gives nan Wh in 12.0 s. The meter keeps it until its reset; it is read at the server''s next start or the station''s next arming."}');
INSERT INTO "events" VALUES(7,'2026-05-04T09:00:00+00:00',4,'meter-start','{}');
INSERT INTO "events" VALUES(8,'2026-05-04T09:00:00+00:00',4,'energy-missing','{"reason": "The meter''s integrator was reset or the meter switched off after the run had started."}');
INSERT INTO "events" VALUES(9,'2026-05-04T09:00:00+00:00',5,'meter-start','{}');
INSERT INTO "events" VALUES(10,'2026-05-04T09:00:00+00:00',5,'energy-missing','{"reason": "The meter''s integrator began anew after the run (0.0061 Wh in 12 s, then 0.0001 Wh in 3 s)."}');
CREATE TABLE "image_orders" (
   "run" INTEGER PRIMARY KEY,
   "numbers" BLOB
);
INSERT INTO "image_orders" VALUES(1,X'010000000000000002000000000000000300000000000000');
INSERT INTO "image_orders" VALUES(2,X'010000000000000002000000000000000300000000000000');
INSERT INTO "image_orders" VALUES(3,X'010000000000000002000000000000000300000000000000');
INSERT INTO "image_orders" VALUES(4,X'010000000000000002000000000000000300000000000000');
INSERT INTO "image_orders" VALUES(5,X'010000000000000002000000000000000300000000000000');
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
CREATE TABLE "parts" (
   "id" INTEGER PRIMARY KEY,
   "upload" TEXT NOT NULL,
   "rows" BLOB NOT NULL
);
INSERT INTO "parts" VALUES(1,'dde46a3de8fa41379c2284933d80b050',X'0000000000000000000000000000F03F000000000000004000000000000008400000000000001040000000000000144000000000000018400000000000001C40000000000000204000000000000022400000000000002440000000000000264000000000');
INSERT INTO "parts" VALUES(2,'dde46a3de8fa41379c2284933d80b050',X'000028400000000000002A400000000000002C400000000000002E40000000000000304000000000000031400000000000003240000000000000334000000000000034400000000000003540000000000000364000000000000037400000000000003840');
INSERT INTO "parts" VALUES(3,'dde46a3de8fa41379c2284933d80b050',X'00000000000039400000000000003A400000000000003B40');
INSERT INTO "parts" VALUES(4,'2548129bb9f44d90a20a3d9a93004406',X'0000000000000000000000000000F03F000000000000004000000000000008400000000000001040000000000000144000000000000018400000000000001C40000000000000204000000000000022400000000000002440000000000000264000000000');
INSERT INTO "parts" VALUES(5,'2548129bb9f44d90a20a3d9a93004406',X'000028400000000000002A400000000000002C400000000000002E4000000000000030400000000000003140000000000000324000000000000033400000000000003440');
INSERT INTO "parts" VALUES(6,'cut off',X'00');
CREATE TABLE "posts" (
   "id" INTEGER PRIMARY KEY,
   "run" INTEGER NOT NULL REFERENCES "runs"("id"),
   "received_utc" TEXT NOT NULL,
   "elapsed_s" REAL NOT NULL,
   "sha256" TEXT NOT NULL,
   "idempotency_key" TEXT,
   "row_count" INTEGER NOT NULL,
   "received_total" INTEGER,
   "rows" BLOB NOT NULL,
   "upload" TEXT
);
INSERT INTO "posts" VALUES(1,1,'2026-05-04T09:00:00+00:00',1.0,'s-1','small',1,1,X'0000000000000000000000000000F03F00000000000000400000000000000840000000000000104000000000000014400000000000001840',NULL);
INSERT INTO "posts" VALUES(2,1,'2026-05-04T09:00:00+00:00',1.0,'s-2','large',4,5,X'','dde46a3de8fa41379c2284933d80b050');
INSERT INTO "posts" VALUES(3,1,'2026-05-04T09:00:00+00:00',1.0,'s-3',NULL,1,6,X'0000000000000000000000000000F03F00000000000000400000000000000840000000000000104000000000000014400000000000001840',NULL);
INSERT INTO "posts" VALUES(4,2,'2026-05-04T09:00:00+00:00',1.0,'s-4',NULL,3,3,X'','2548129bb9f44d90a20a3d9a93004406');
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
INSERT INTO "runs" VALUES(1,'otters','one','closed','2026-05-04T09:00:00+00:00','dddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddd',3,600.0,'{"voltage_range_v": 150.0, "current_range_a": 0.5, "update_interval_s": 0.1, "integrator_timer_s": 600, "mode": "rms", "crest_factor": 3, "line_filter": false, "frequency_filter": false, "synchronize": "voltage", "element": "1"}','YOKOGAWA WT310 C2PH13047V F1.03','2026-05-04T09:00:00+00:00',5.0,'b','2026-05-04T09:00:00+00:00','logout',12.0,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "runs" VALUES(2,'otters','s2','closed','2026-05-04T09:00:00+00:00','dddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddd',3,600.0,'{"voltage_range_v": 150.0, "current_range_a": 0.5, "update_interval_s": 0.1, "integrator_timer_s": 600, "mode": "rms", "crest_factor": 3, "line_filter": false, "frequency_filter": false, "synchronize": "voltage", "element": "1"}','YOKOGAWA WT310 C2PH13047V F1.03','2026-05-04T09:00:00+00:00',5.0,'b','2026-05-04T09:00:00+00:00','logout',12.0,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "runs" VALUES(3,'otters','s3','closed','2026-05-04T09:00:00+00:00','dddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddd',3,600.0,'{"voltage_range_v": 150.0, "current_range_a": 0.5, "update_interval_s": 0.1, "integrator_timer_s": 600, "mode": "rms", "crest_factor": 3, "line_filter": false, "frequency_filter": false, "synchronize": "voltage", "element": "1"}','YOKOGAWA WT310 C2PH13047V F1.03','2026-05-04T09:00:00+00:00',5.0,'b','2026-05-04T09:00:00+00:00','logout',12.0,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "runs" VALUES(4,'otters','s4','closed','2026-05-04T09:00:00+00:00','dddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddd',3,600.0,'{"voltage_range_v": 150.0, "current_range_a": 0.5, "update_interval_s": 0.1, "integrator_timer_s": 600, "mode": "rms", "crest_factor": 3, "line_filter": false, "frequency_filter": false, "synchronize": "voltage", "element": "1"}','YOKOGAWA WT310 C2PH13047V F1.03','2026-05-04T09:00:00+00:00',5.0,'b','2026-05-04T09:00:00+00:00','logout',12.0,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "runs" VALUES(5,'otters','s5','closed','2026-05-04T09:00:00+00:00','dddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddd',3,600.0,'{"voltage_range_v": 150.0, "current_range_a": 0.5, "update_interval_s": 0.1, "integrator_timer_s": 600, "mode": "rms", "crest_factor": 3, "line_filter": false, "frequency_filter": false, "synchronize": "voltage", "element": "1"}','YOKOGAWA WT310 C2PH13047V F1.03','2026-05-04T09:00:00+00:00',5.0,'b','2026-05-04T09:00:00+00:00','logout',12.0,NULL,NULL,NULL,NULL,NULL,NULL);
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
CREATE UNIQUE INDEX posts_by_key ON posts (run, idempotency_key) WHERE idempotency_key IS NOT NULL;
CREATE INDEX posts_by_upload ON posts (upload) WHERE upload IS NOT NULL;
CREATE INDEX "idx_parts_upload"
    ON "parts" ("upload");
CREATE INDEX "idx_submissions_track_team"
    ON "submissions" ("track", "team");
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
