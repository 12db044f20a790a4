BEGIN TRANSACTION;
CREATE TABLE alembic_version (
	version_num VARCHAR(32) NOT NULL, 
	CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num)
);
INSERT INTO "alembic_version" VALUES('v3.2.0.a');
CREATE TABLE studies (
	study_id INTEGER NOT NULL, 
	study_name VARCHAR(512) NOT NULL, 
	PRIMARY KEY (study_id)
);
INSERT INTO "studies" VALUES(1,'sampler');
CREATE TABLE study_directions (
	study_direction_id INTEGER NOT NULL, 
	direction VARCHAR(8) NOT NULL, 
	study_id INTEGER NOT NULL, 
	objective INTEGER NOT NULL, 
	PRIMARY KEY (study_direction_id), 
	UNIQUE (study_id, objective), 
	FOREIGN KEY(study_id) REFERENCES studies (study_id)
);
INSERT INTO "study_directions" VALUES(1,'MINIMIZE',1,0);
CREATE TABLE study_system_attributes (
	study_system_attribute_id INTEGER NOT NULL, 
	study_id INTEGER, 
	"key" VARCHAR(512), 
	value_json TEXT, 
	PRIMARY KEY (study_system_attribute_id), 
	UNIQUE (study_id, "key"), 
	FOREIGN KEY(study_id) REFERENCES studies (study_id)
);
CREATE TABLE study_user_attributes (
	study_user_attribute_id INTEGER NOT NULL, 
	study_id INTEGER, 
	"key" VARCHAR(512), 
	value_json TEXT, 
	PRIMARY KEY (study_user_attribute_id), 
	UNIQUE (study_id, "key"), 
	FOREIGN KEY(study_id) REFERENCES studies (study_id)
);
INSERT INTO "study_user_attributes" VALUES(1,1,'mergebo:order','{"n": 4, "items": ["base", "acid", "salt", "water"], "before": [["water", "acid"]]}');
CREATE TABLE trial_heartbeats (
	trial_heartbeat_id INTEGER NOT NULL, 
	trial_id INTEGER NOT NULL, 
	heartbeat DATETIME NOT NULL, 
	PRIMARY KEY (trial_heartbeat_id), 
	UNIQUE (trial_id), 
	FOREIGN KEY(trial_id) REFERENCES trials (trial_id)
);
CREATE TABLE trial_intermediate_values (
	trial_intermediate_value_id INTEGER NOT NULL, 
	trial_id INTEGER NOT NULL, 
	step INTEGER NOT NULL, 
	intermediate_value FLOAT, 
	intermediate_value_type VARCHAR(7) NOT NULL, 
	PRIMARY KEY (trial_intermediate_value_id), 
	UNIQUE (trial_id, step), 
	FOREIGN KEY(trial_id) REFERENCES trials (trial_id)
);
CREATE TABLE trial_params (
	param_id INTEGER NOT NULL, 
	trial_id INTEGER, 
	param_name VARCHAR(512), 
	param_value FLOAT, 
	distribution_json TEXT, 
	PRIMARY KEY (param_id), 
	UNIQUE (trial_id, param_name), 
	FOREIGN KEY(trial_id) REFERENCES trials (trial_id)
);
INSERT INTO "trial_params" VALUES(1,1,'order0',2.0,'{"name": "IntDistribution", "attributes": {"log": false, "step": 1, "low": 0, "high": 3}}');
INSERT INTO "trial_params" VALUES(2,1,'order1',2.0,'{"name": "IntDistribution", "attributes": {"log": false, "step": 1, "low": 0, "high": 2}}');
INSERT INTO "trial_params" VALUES(3,1,'order2',0.0,'{"name": "IntDistribution", "attributes": {"log": false, "step": 1, "low": 0, "high": 1}}');
INSERT INTO "trial_params" VALUES(4,1,'order3',0.0,'{"name": "IntDistribution", "attributes": {"log": false, "step": 1, "low": 0, "high": 0}}');
INSERT INTO "trial_params" VALUES(5,1,'heat',5.06496563118597791213e+01,'{"name": "FloatDistribution", "attributes": {"step": null, "low": 20.0, "high": 80.0, "log": false}}');
INSERT INTO "trial_params" VALUES(6,1,'solvent',1.0,'{"name": "CategoricalDistribution", "attributes": {"choices": ["a", "b"]}}');
INSERT INTO "trial_params" VALUES(7,1,'n',1.0,'{"name": "IntDistribution", "attributes": {"log": false, "step": 1, "low": 1, "high": 4}}');
INSERT INTO "trial_params" VALUES(8,2,'order0',3.0,'{"name": "IntDistribution", "attributes": {"log": false, "step": 1, "low": 0, "high": 3}}');
INSERT INTO "trial_params" VALUES(9,2,'order1',0.0,'{"name": "IntDistribution", "attributes": {"log": false, "step": 1, "low": 0, "high": 2}}');
INSERT INTO "trial_params" VALUES(10,2,'order2',1.0,'{"name": "IntDistribution", "attributes": {"log": false, "step": 1, "low": 0, "high": 1}}');
INSERT INTO "trial_params" VALUES(11,2,'order3',0.0,'{"name": "IntDistribution", "attributes": {"log": false, "step": 1, "low": 0, "high": 0}}');
INSERT INTO "trial_params" VALUES(12,2,'heat',76.4239152559298,'{"name": "FloatDistribution", "attributes": {"step": null, "low": 20.0, "high": 80.0, "log": false}}');
INSERT INTO "trial_params" VALUES(13,2,'solvent',1.0,'{"name": "CategoricalDistribution", "attributes": {"choices": ["a", "b"]}}');
INSERT INTO "trial_params" VALUES(14,2,'n',2.0,'{"name": "IntDistribution", "attributes": {"log": false, "step": 1, "low": 1, "high": 4}}');
INSERT INTO "trial_params" VALUES(15,3,'order0',2.0,'{"name": "IntDistribution", "attributes": {"log": false, "step": 1, "low": 0, "high": 3}}');
INSERT INTO "trial_params" VALUES(16,3,'order1',2.0,'{"name": "IntDistribution", "attributes": {"log": false, "step": 1, "low": 0, "high": 2}}');
INSERT INTO "trial_params" VALUES(17,3,'order2',1.0,'{"name": "IntDistribution", "attributes": {"log": false, "step": 1, "low": 0, "high": 1}}');
INSERT INTO "trial_params" VALUES(18,3,'order3',0.0,'{"name": "IntDistribution", "attributes": {"log": false, "step": 1, "low": 0, "high": 0}}');
INSERT INTO "trial_params" VALUES(19,3,'heat',4.10702412907932554739e+01,'{"name": "FloatDistribution", "attributes": {"step": null, "low": 20.0, "high": 80.0, "log": false}}');
INSERT INTO "trial_params" VALUES(20,3,'solvent',1.0,'{"name": "CategoricalDistribution", "attributes": {"choices": ["a", "b"]}}');
INSERT INTO "trial_params" VALUES(21,3,'n',2.0,'{"name": "IntDistribution", "attributes": {"log": false, "step": 1, "low": 1, "high": 4}}');
INSERT INTO "trial_params" VALUES(22,4,'order0',0.0,'{"name": "IntDistribution", "attributes": {"log": false, "step": 1, "low": 0, "high": 3}}');
INSERT INTO "trial_params" VALUES(23,4,'order1',2.0,'{"name": "IntDistribution", "attributes": {"log": false, "step": 1, "low": 0, "high": 2}}');
INSERT INTO "trial_params" VALUES(24,4,'order2',1.0,'{"name": "IntDistribution", "attributes": {"log": false, "step": 1, "low": 0, "high": 1}}');
INSERT INTO "trial_params" VALUES(25,4,'order3',0.0,'{"name": "IntDistribution", "attributes": {"log": false, "step": 1, "low": 0, "high": 0}}');
INSERT INTO "trial_params" VALUES(26,4,'heat',2.28944263436862094351e+01,'{"name": "FloatDistribution", "attributes": {"step": null, "low": 20.0, "high": 80.0, "log": false}}');
INSERT INTO "trial_params" VALUES(27,4,'solvent',1.0,'{"name": "CategoricalDistribution", "attributes": {"choices": ["a", "b"]}}');
INSERT INTO "trial_params" VALUES(28,4,'n',1.0,'{"name": "IntDistribution", "attributes": {"log": false, "step": 1, "low": 1, "high": 4}}');
INSERT INTO "trial_params" VALUES(29,5,'order0',3.0,'{"name": "IntDistribution", "attributes": {"log": false, "step": 1, "low": 0, "high": 3}}');
INSERT INTO "trial_params" VALUES(30,5,'order1',0.0,'{"name": "IntDistribution", "attributes": {"log": false, "step": 1, "low": 0, "high": 2}}');
INSERT INTO "trial_params" VALUES(31,5,'order2',1.0,'{"name": "IntDistribution", "attributes": {"log": false, "step": 1, "low": 0, "high": 1}}');
INSERT INTO "trial_params" VALUES(32,5,'order3',0.0,'{"name": "IntDistribution", "attributes": {"log": false, "step": 1, "low": 0, "high": 0}}');
INSERT INTO "trial_params" VALUES(33,5,'heat',2.36097062758947373595e+01,'{"name": "FloatDistribution", "attributes": {"step": null, "low": 20.0, "high": 80.0, "log": false}}');
INSERT INTO "trial_params" VALUES(34,5,'solvent',1.0,'{"name": "CategoricalDistribution", "attributes": {"choices": ["a", "b"]}}');
INSERT INTO "trial_params" VALUES(35,5,'n',3.0,'{"name": "IntDistribution", "attributes": {"log": false, "step": 1, "low": 1, "high": 4}}');
INSERT INTO "trial_params" VALUES(36,6,'order0',0.0,'{"name": "IntDistribution", "attributes": {"log": false, "step": 1, "low": 0, "high": 3}}');
INSERT INTO "trial_params" VALUES(37,6,'order1',2.0,'{"name": "IntDistribution", "attributes": {"log": false, "step": 1, "low": 0, "high": 2}}');
INSERT INTO "trial_params" VALUES(38,6,'order2',1.0,'{"name": "IntDistribution", "attributes": {"log": false, "step": 1, "low": 0, "high": 1}}');
INSERT INTO "trial_params" VALUES(39,6,'order3',0.0,'{"name": "IntDistribution", "attributes": {"log": false, "step": 1, "low": 0, "high": 0}}');
INSERT INTO "trial_params" VALUES(40,6,'heat',5.75980975956570659954e+01,'{"name": "FloatDistribution", "attributes": {"step": null, "low": 20.0, "high": 80.0, "log": false}}');
INSERT INTO "trial_params" VALUES(41,6,'solvent',1.0,'{"name": "CategoricalDistribution", "attributes": {"choices": ["a", "b"]}}');
INSERT INTO "trial_params" VALUES(42,6,'n',1.0,'{"name": "IntDistribution", "attributes": {"log": false, "step": 1, "low": 1, "high": 4}}');
INSERT INTO "trial_params" VALUES(43,7,'order0',2.0,'{"name": "IntDistribution", "attributes": {"log": false, "step": 1, "low": 0, "high": 3}}');
INSERT INTO "trial_params" VALUES(44,7,'order1',2.0,'{"name": "IntDistribution", "attributes": {"log": false, "step": 1, "low": 0, "high": 2}}');
INSERT INTO "trial_params" VALUES(45,7,'order2',0.0,'{"name": "IntDistribution", "attributes": {"log": false, "step": 1, "low": 0, "high": 1}}');
INSERT INTO "trial_params" VALUES(46,7,'order3',0.0,'{"name": "IntDistribution", "attributes": {"log": false, "step": 1, "low": 0, "high": 0}}');
INSERT INTO "trial_params" VALUES(47,7,'heat',4.16364693350071206606e+01,'{"name": "FloatDistribution", "attributes": {"step": null, "low": 20.0, "high": 80.0, "log": false}}');
INSERT INTO "trial_params" VALUES(48,7,'solvent',1.0,'{"name": "CategoricalDistribution", "attributes": {"choices": ["a", "b"]}}');
INSERT INTO "trial_params" VALUES(49,7,'n',1.0,'{"name": "IntDistribution", "attributes": {"log": false, "step": 1, "low": 1, "high": 4}}');
INSERT INTO "trial_params" VALUES(50,8,'order0',2.0,'{"name": "IntDistribution", "attributes": {"log": false, "step": 1, "low": 0, "high": 3}}');
INSERT INTO "trial_params" VALUES(51,8,'order1',2.0,'{"name": "IntDistribution", "attributes": {"log": false, "step": 1, "low": 0, "high": 2}}');
INSERT INTO "trial_params" VALUES(52,8,'order2',0.0,'{"name": "IntDistribution", "attributes": {"log": false, "step": 1, "low": 0, "high": 1}}');
INSERT INTO "trial_params" VALUES(53,8,'order3',0.0,'{"name": "IntDistribution", "attributes": {"log": false, "step": 1, "low": 0, "high": 0}}');
INSERT INTO "trial_params" VALUES(54,8,'heat',6.07496849822096223175e+01,'{"name": "FloatDistribution", "attributes": {"step": null, "low": 20.0, "high": 80.0, "log": false}}');
INSERT INTO "trial_params" VALUES(55,8,'solvent',1.0,'{"name": "CategoricalDistribution", "attributes": {"choices": ["a", "b"]}}');
INSERT INTO "trial_params" VALUES(56,8,'n',2.0,'{"name": "IntDistribution", "attributes": {"log": false, "step": 1, "low": 1, "high": 4}}');
INSERT INTO "trial_params" VALUES(57,9,'order0',2.0,'{"name": "IntDistribution", "attributes": {"log": false, "step": 1, "low": 0, "high": 3}}');
INSERT INTO "trial_params" VALUES(58,9,'order1',2.0,'{"name": "IntDistribution", "attributes": {"log": false, "step": 1, "low": 0, "high": 2}}');
INSERT INTO "trial_params" VALUES(59,9,'order2',0.0,'{"name": "IntDistribution", "attributes": {"log": false, "step": 1, "low": 0, "high": 1}}');
INSERT INTO "trial_params" VALUES(60,9,'order3',0.0,'{"name": "IntDistribution", "attributes": {"log": false, "step": 1, "low": 0, "high": 0}}');
INSERT INTO "trial_params" VALUES(61,9,'heat',7.64871398300018086064e+01,'{"name": "FloatDistribution", "attributes": {"step": null, "low": 20.0, "high": 80.0, "log": false}}');
INSERT INTO "trial_params" VALUES(62,9,'solvent',1.0,'{"name": "CategoricalDistribution", "attributes": {"choices": ["a", "b"]}}');
INSERT INTO "trial_params" VALUES(63,9,'n',1.0,'{"name": "IntDistribution", "attributes": {"log": false, "step": 1, "low": 1, "high": 4}}');
CREATE TABLE trial_system_attributes (
	trial_system_attribute_id INTEGER NOT NULL, 
	trial_id INTEGER, 
	"key" VARCHAR(512), 
	value_json TEXT, 
	PRIMARY KEY (trial_system_attribute_id), 
	UNIQUE (trial_id, "key"), 
	FOREIGN KEY(trial_id) REFERENCES trials (trial_id)
);
INSERT INTO "trial_system_attributes" VALUES(1,2,'mergebo:claim','{"order0": 3, "order1": 0, "order2": 1, "order3": 0, "heat": 76.4239152559298, "n": 2, "solvent": "b"}');
INSERT INTO "trial_system_attributes" VALUES(2,3,'mergebo:claim','{"order0": 2, "order1": 2, "order2": 1, "order3": 0, "heat": 41.070241290793255, "n": 2, "solvent": "b"}');
INSERT INTO "trial_system_attributes" VALUES(3,4,'mergebo:claim','{"order0": 0, "order1": 2, "order2": 1, "order3": 0, "heat": 22.89442634368621, "n": 1, "solvent": "b"}');
INSERT INTO "trial_system_attributes" VALUES(4,5,'mergebo:claim','{"order0": 3, "order1": 0, "order2": 1, "order3": 0, "heat": 23.609706275894737, "n": 3, "solvent": "b"}');
INSERT INTO "trial_system_attributes" VALUES(5,6,'mergebo:claim','{"order0": 0, "order1": 2, "order2": 1, "order3": 0, "heat": 57.598097595657066, "n": 1, "solvent": "b"}');
INSERT INTO "trial_system_attributes" VALUES(6,7,'mergebo:claim','{"order0": 2, "order1": 2, "order2": 0, "order3": 0, "heat": 41.63646933500712, "n": 1, "solvent": "b"}');
INSERT INTO "trial_system_attributes" VALUES(7,8,'mergebo:claim','{"order0": 2, "order1": 2, "order2": 0, "order3": 0, "heat": 60.74968498220962, "n": 2, "solvent": "b"}');
INSERT INTO "trial_system_attributes" VALUES(8,9,'mergebo:claim','{"order0": 2, "order1": 2, "order2": 0, "order3": 0, "heat": 76.48713983000181, "n": 1, "solvent": "b"}');
CREATE TABLE trial_user_attributes (
	trial_user_attribute_id INTEGER NOT NULL, 
	trial_id INTEGER, 
	"key" VARCHAR(512), 
	value_json TEXT, 
	PRIMARY KEY (trial_user_attribute_id), 
	UNIQUE (trial_id, "key"), 
	FOREIGN KEY(trial_id) REFERENCES trials (trial_id)
);
INSERT INTO "trial_user_attributes" VALUES(1,1,'order','["salt", "water", "base", "acid"]');
INSERT INTO "trial_user_attributes" VALUES(2,2,'order','["water", "base", "salt", "acid"]');
INSERT INTO "trial_user_attributes" VALUES(3,3,'order','["salt", "water", "acid", "base"]');
INSERT INTO "trial_user_attributes" VALUES(4,4,'order','["base", "water", "salt", "acid"]');
INSERT INTO "trial_user_attributes" VALUES(5,5,'order','["water", "base", "salt", "acid"]');
INSERT INTO "trial_user_attributes" VALUES(6,6,'order','["base", "water", "salt", "acid"]');
INSERT INTO "trial_user_attributes" VALUES(7,7,'order','["salt", "water", "base", "acid"]');
INSERT INTO "trial_user_attributes" VALUES(8,8,'order','["salt", "water", "base", "acid"]');
INSERT INTO "trial_user_attributes" VALUES(9,9,'order','["salt", "water", "base", "acid"]');
CREATE TABLE trial_values (
	trial_value_id INTEGER NOT NULL, 
	trial_id INTEGER NOT NULL, 
	objective INTEGER NOT NULL, 
	value FLOAT, 
	value_type VARCHAR(7) NOT NULL, 
	PRIMARY KEY (trial_value_id), 
	UNIQUE (trial_id, objective), 
	FOREIGN KEY(trial_id) REFERENCES trials (trial_id)
);
INSERT INTO "trial_values" VALUES(1,1,0,1.26299312623719561798e+00,'FINITE');
INSERT INTO "trial_values" VALUES(2,2,0,4.02847830511859594793e+00,'FINITE');
INSERT INTO "trial_values" VALUES(3,3,0,1.67859517418413495271e+00,'FINITE');
INSERT INTO "trial_values" VALUES(4,4,0,3.79211147312627572247e+00,'FINITE');
INSERT INTO "trial_values" VALUES(5,5,0,4.2778058744821052528e+00,'FINITE');
INSERT INTO "trial_values" VALUES(6,7,0,1.41727061329985759563e+00,'FINITE');
INSERT INTO "trial_values" VALUES(7,8,0,1.71499369964419257073e+00,'FINITE');
INSERT INTO "trial_values" VALUES(8,9,0,1.7797427966000363142e+00,'FINITE');
CREATE TABLE trials (
	trial_id INTEGER NOT NULL, 
	number INTEGER, 
	study_id INTEGER, 
	state VARCHAR(8) NOT NULL, 
	datetime_start DATETIME, 
	datetime_complete DATETIME, 
	PRIMARY KEY (trial_id), 
	FOREIGN KEY(study_id) REFERENCES studies (study_id)
);
INSERT INTO "trials" VALUES(1,0,1,'COMPLETE','2026-11-18 21:18:52.824904','2026-11-18 21:18:52.867433');
INSERT INTO "trials" VALUES(2,1,1,'COMPLETE','2026-11-18 21:18:52.871714','2026-11-18 21:18:52.922151');
INSERT INTO "trials" VALUES(3,2,1,'COMPLETE','2026-11-18 21:18:52.925889','2026-11-18 21:18:52.952223');
INSERT INTO "trials" VALUES(4,3,1,'COMPLETE','2026-11-18 21:18:52.955670','2026-11-18 21:18:52.980481');
INSERT INTO "trials" VALUES(5,4,1,'COMPLETE','2026-11-18 21:18:52.984019','2026-11-18 21:18:53.008837');
INSERT INTO "trials" VALUES(6,5,1,'PRUNED','2026-11-18 21:18:53.012149','2026-11-18 21:18:53.251518');
INSERT INTO "trials" VALUES(7,6,1,'COMPLETE','2026-11-18 21:18:53.254921','2026-11-18 21:18:53.329777');
INSERT INTO "trials" VALUES(8,7,1,'COMPLETE','2026-11-18 21:18:53.333348','2026-11-18 21:18:53.417784');
INSERT INTO "trials" VALUES(9,8,1,'COMPLETE','2026-11-18 21:18:53.421329','2026-11-18 21:18:53.505795');
CREATE TABLE version_info (
	version_info_id INTEGER NOT NULL, 
	schema_version INTEGER, 
	library_version VARCHAR(256), 
	PRIMARY KEY (version_info_id), 
	CHECK (version_info_id=1)
);
INSERT INTO "version_info" VALUES(1,12,'5.0.0');
CREATE UNIQUE INDEX ix_studies_study_name ON studies (study_name);
CREATE INDEX ix_trials_study_id ON trials (study_id);
COMMIT;
