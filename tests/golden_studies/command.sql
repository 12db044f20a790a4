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
INSERT INTO "studies" VALUES(1,'mixed');
INSERT INTO "studies" VALUES(2,'rounds');
INSERT INTO "studies" VALUES(3,'several');
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
INSERT INTO "study_directions" VALUES(2,'MINIMIZE',2,0);
INSERT INTO "study_directions" VALUES(3,'MINIMIZE',3,0);
INSERT INTO "study_directions" VALUES(4,'MAXIMIZE',3,1);
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
INSERT INTO "study_user_attributes" VALUES(1,1,'mergebo','{"format": 1, "space": {"order": ["Permutation", {"n": 5, "items": ["base", "acid", "salt", "water", "dye"], "before": [["water", "acid"]]}], "heat": ["Real", 20.0, 80.0, false], "dose": ["Integer", 1, 5, false], "salt": ["Choice", ["K", "Na"]], "picks": ["Binary", 2]}, "method": "auto", "seed": 4, "initial": 3, "noisy": true}');
INSERT INTO "study_user_attributes" VALUES(2,1,'mergebo:order','{"n": 5, "items": ["base", "acid", "salt", "water", "dye"], "before": [["water", "acid"]]}');
INSERT INTO "study_user_attributes" VALUES(3,2,'mergebo','{"format": 1, "space": {"order": ["Permutation", {"n": 6, "items": ["0", "1", "2", "3", "4", "5"], "symmetry": ["cycle"]}]}, "method": "bops-h", "seed": 1, "initial": 5, "noisy": false}');
INSERT INTO "study_user_attributes" VALUES(4,2,'mergebo:order','{"n": 6, "items": ["0", "1", "2", "3", "4", "5"], "symmetry": ["cycle"]}');
INSERT INTO "study_user_attributes" VALUES(5,3,'mergebo','{"format": 1, "space": {"order": ["Permutation", {"n": 5, "items": ["a", "b", "c", "d", "e"], "choose": 3}]}, "method": "auto", "seed": 0, "initial": 3, "noisy": false}');
INSERT INTO "study_user_attributes" VALUES(6,3,'mergebo:order','{"n": 5, "items": ["a", "b", "c", "d", "e"], "choose": 3}');
CREATE TABLE trial_heartbeats (
	trial_heartbeat_id INTEGER NOT NULL, 
	trial_id INTEGER NOT NULL, 
	heartbeat DATETIME NOT NULL, 
	PRIMARY KEY (trial_heartbeat_id), 
	UNIQUE (trial_id), 
	FOREIGN KEY(trial_id) REFERENCES trials (trial_id)
);
INSERT INTO "trial_heartbeats" VALUES(1,6,'2026-11-18 21:18:40');
INSERT INTO "trial_heartbeats" VALUES(2,7,'2026-11-18 21:18:41');
INSERT INTO "trial_heartbeats" VALUES(3,8,'2026-11-18 21:18:41');
INSERT INTO "trial_heartbeats" VALUES(4,9,'2026-11-18 21:18:41');
INSERT INTO "trial_heartbeats" VALUES(5,10,'2026-11-18 21:18:41');
INSERT INTO "trial_heartbeats" VALUES(6,11,'2026-11-18 21:18:41');
INSERT INTO "trial_heartbeats" VALUES(7,12,'2026-11-18 21:18:41');
INSERT INTO "trial_heartbeats" VALUES(8,13,'2026-11-18 21:18:41');
INSERT INTO "trial_heartbeats" VALUES(9,14,'2026-11-18 21:18:41');
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
INSERT INTO "trial_params" VALUES(1,1,'order0',2.0,'{"name": "IntDistribution", "attributes": {"log": false, "step": 1, "low": 0, "high": 4}}');
INSERT INTO "trial_params" VALUES(2,1,'order1',0.0,'{"name": "IntDistribution", "attributes": {"log": false, "step": 1, "low": 0, "high": 3}}');
INSERT INTO "trial_params" VALUES(3,1,'order2',1.0,'{"name": "IntDistribution", "attributes": {"log": false, "step": 1, "low": 0, "high": 2}}');
INSERT INTO "trial_params" VALUES(4,1,'order3',1.0,'{"name": "IntDistribution", "attributes": {"log": false, "step": 1, "low": 0, "high": 1}}');
INSERT INTO "trial_params" VALUES(5,1,'order4',0.0,'{"name": "IntDistribution", "attributes": {"log": false, "step": 1, "low": 0, "high": 0}}');
INSERT INTO "trial_params" VALUES(6,1,'heat',6.51377722905676392883e+01,'{"name": "FloatDistribution", "attributes": {"step": null, "low": 20.0, "high": 80.0, "log": false}}');
INSERT INTO "trial_params" VALUES(7,1,'dose',3.0,'{"name": "IntDistribution", "attributes": {"log": false, "step": 1, "low": 1, "high": 5}}');
INSERT INTO "trial_params" VALUES(8,1,'salt',1.0,'{"name": "CategoricalDistribution", "attributes": {"choices": ["K", "Na"]}}');
INSERT INTO "trial_params" VALUES(9,1,'picks0',0.0,'{"name": "IntDistribution", "attributes": {"log": false, "step": 1, "low": 0, "high": 1}}');
INSERT INTO "trial_params" VALUES(10,1,'picks1',0.0,'{"name": "IntDistribution", "attributes": {"log": false, "step": 1, "low": 0, "high": 1}}');
INSERT INTO "trial_params" VALUES(11,2,'order0',3.0,'{"name": "IntDistribution", "attributes": {"log": false, "step": 1, "low": 0, "high": 4}}');
INSERT INTO "trial_params" VALUES(12,2,'order1',1.0,'{"name": "IntDistribution", "attributes": {"log": false, "step": 1, "low": 0, "high": 3}}');
INSERT INTO "trial_params" VALUES(13,2,'order2',2.0,'{"name": "IntDistribution", "attributes": {"log": false, "step": 1, "low": 0, "high": 2}}');
INSERT INTO "trial_params" VALUES(14,2,'order3',1.0,'{"name": "IntDistribution", "attributes": {"log": false, "step": 1, "low": 0, "high": 1}}');
INSERT INTO "trial_params" VALUES(15,2,'order4',0.0,'{"name": "IntDistribution", "attributes": {"log": false, "step": 1, "low": 0, "high": 0}}');
INSERT INTO "trial_params" VALUES(16,2,'heat',5.92694171297984340185e+01,'{"name": "FloatDistribution", "attributes": {"step": null, "low": 20.0, "high": 80.0, "log": false}}');
INSERT INTO "trial_params" VALUES(17,2,'dose',1.0,'{"name": "IntDistribution", "attributes": {"log": false, "step": 1, "low": 1, "high": 5}}');
INSERT INTO "trial_params" VALUES(18,2,'salt',1.0,'{"name": "CategoricalDistribution", "attributes": {"choices": ["K", "Na"]}}');
INSERT INTO "trial_params" VALUES(19,2,'picks0',1.0,'{"name": "IntDistribution", "attributes": {"log": false, "step": 1, "low": 0, "high": 1}}');
INSERT INTO "trial_params" VALUES(20,2,'picks1',1.0,'{"name": "IntDistribution", "attributes": {"log": false, "step": 1, "low": 0, "high": 1}}');
INSERT INTO "trial_params" VALUES(21,3,'order0',4.0,'{"name": "IntDistribution", "attributes": {"log": false, "step": 1, "low": 0, "high": 4}}');
INSERT INTO "trial_params" VALUES(22,3,'order1',3.0,'{"name": "IntDistribution", "attributes": {"log": false, "step": 1, "low": 0, "high": 3}}');
INSERT INTO "trial_params" VALUES(23,3,'order2',0.0,'{"name": "IntDistribution", "attributes": {"log": false, "step": 1, "low": 0, "high": 2}}');
INSERT INTO "trial_params" VALUES(24,3,'order3',0.0,'{"name": "IntDistribution", "attributes": {"log": false, "step": 1, "low": 0, "high": 1}}');
INSERT INTO "trial_params" VALUES(25,3,'order4',0.0,'{"name": "IntDistribution", "attributes": {"log": false, "step": 1, "low": 0, "high": 0}}');
INSERT INTO "trial_params" VALUES(26,3,'heat',4.76995828527301597449e+01,'{"name": "FloatDistribution", "attributes": {"step": null, "low": 20.0, "high": 80.0, "log": false}}');
INSERT INTO "trial_params" VALUES(27,3,'dose',1.0,'{"name": "IntDistribution", "attributes": {"log": false, "step": 1, "low": 1, "high": 5}}');
INSERT INTO "trial_params" VALUES(28,3,'salt',0.0,'{"name": "CategoricalDistribution", "attributes": {"choices": ["K", "Na"]}}');
INSERT INTO "trial_params" VALUES(29,3,'picks0',0.0,'{"name": "IntDistribution", "attributes": {"log": false, "step": 1, "low": 0, "high": 1}}');
INSERT INTO "trial_params" VALUES(30,3,'picks1',1.0,'{"name": "IntDistribution", "attributes": {"log": false, "step": 1, "low": 0, "high": 1}}');
INSERT INTO "trial_params" VALUES(31,4,'order0',4.0,'{"name": "IntDistribution", "attributes": {"log": false, "step": 1, "low": 0, "high": 4}}');
INSERT INTO "trial_params" VALUES(32,4,'order1',0.0,'{"name": "IntDistribution", "attributes": {"log": false, "step": 1, "low": 0, "high": 3}}');
INSERT INTO "trial_params" VALUES(33,4,'order2',2.0,'{"name": "IntDistribution", "attributes": {"log": false, "step": 1, "low": 0, "high": 2}}');
INSERT INTO "trial_params" VALUES(34,4,'order3',0.0,'{"name": "IntDistribution", "attributes": {"log": false, "step": 1, "low": 0, "high": 1}}');
INSERT INTO "trial_params" VALUES(35,4,'order4',0.0,'{"name": "IntDistribution", "attributes": {"log": false, "step": 1, "low": 0, "high": 0}}');
INSERT INTO "trial_params" VALUES(36,4,'heat',7.29069291806509909301e+01,'{"name": "FloatDistribution", "attributes": {"step": null, "low": 20.0, "high": 80.0, "log": false}}');
INSERT INTO "trial_params" VALUES(37,4,'dose',3.0,'{"name": "IntDistribution", "attributes": {"log": false, "step": 1, "low": 1, "high": 5}}');
INSERT INTO "trial_params" VALUES(38,4,'salt',1.0,'{"name": "CategoricalDistribution", "attributes": {"choices": ["K", "Na"]}}');
INSERT INTO "trial_params" VALUES(39,4,'picks0',0.0,'{"name": "IntDistribution", "attributes": {"log": false, "step": 1, "low": 0, "high": 1}}');
INSERT INTO "trial_params" VALUES(40,4,'picks1',1.0,'{"name": "IntDistribution", "attributes": {"log": false, "step": 1, "low": 0, "high": 1}}');
INSERT INTO "trial_params" VALUES(41,5,'order0',3.0,'{"name": "IntDistribution", "attributes": {"log": false, "step": 1, "low": 0, "high": 4}}');
INSERT INTO "trial_params" VALUES(42,5,'order1',1.0,'{"name": "IntDistribution", "attributes": {"log": false, "step": 1, "low": 0, "high": 3}}');
INSERT INTO "trial_params" VALUES(43,5,'order2',1.0,'{"name": "IntDistribution", "attributes": {"log": false, "step": 1, "low": 0, "high": 2}}');
INSERT INTO "trial_params" VALUES(44,5,'order3',1.0,'{"name": "IntDistribution", "attributes": {"log": false, "step": 1, "low": 0, "high": 1}}');
INSERT INTO "trial_params" VALUES(45,5,'order4',0.0,'{"name": "IntDistribution", "attributes": {"log": false, "step": 1, "low": 0, "high": 0}}');
INSERT INTO "trial_params" VALUES(46,5,'heat',2.21441223185390327903e+01,'{"name": "FloatDistribution", "attributes": {"step": null, "low": 20.0, "high": 80.0, "log": false}}');
INSERT INTO "trial_params" VALUES(47,5,'dose',1.0,'{"name": "IntDistribution", "attributes": {"log": false, "step": 1, "low": 1, "high": 5}}');
INSERT INTO "trial_params" VALUES(48,5,'salt',1.0,'{"name": "CategoricalDistribution", "attributes": {"choices": ["K", "Na"]}}');
INSERT INTO "trial_params" VALUES(49,5,'picks0',1.0,'{"name": "IntDistribution", "attributes": {"log": false, "step": 1, "low": 0, "high": 1}}');
INSERT INTO "trial_params" VALUES(50,5,'picks1',1.0,'{"name": "IntDistribution", "attributes": {"log": false, "step": 1, "low": 0, "high": 1}}');
INSERT INTO "trial_params" VALUES(51,6,'order0',0.0,'{"name": "IntDistribution", "attributes": {"log": false, "step": 1, "low": 0, "high": 5}}');
INSERT INTO "trial_params" VALUES(52,6,'order1',1.0,'{"name": "IntDistribution", "attributes": {"log": false, "step": 1, "low": 0, "high": 4}}');
INSERT INTO "trial_params" VALUES(53,6,'order2',3.0,'{"name": "IntDistribution", "attributes": {"log": false, "step": 1, "low": 0, "high": 3}}');
INSERT INTO "trial_params" VALUES(54,6,'order3',2.0,'{"name": "IntDistribution", "attributes": {"log": false, "step": 1, "low": 0, "high": 2}}');
INSERT INTO "trial_params" VALUES(55,6,'order4',1.0,'{"name": "IntDistribution", "attributes": {"log": false, "step": 1, "low": 0, "high": 1}}');
INSERT INTO "trial_params" VALUES(56,6,'order5',0.0,'{"name": "IntDistribution", "attributes": {"log": false, "step": 1, "low": 0, "high": 0}}');
INSERT INTO "trial_params" VALUES(57,7,'order0',0.0,'{"name": "IntDistribution", "attributes": {"log": false, "step": 1, "low": 0, "high": 5}}');
INSERT INTO "trial_params" VALUES(58,7,'order1',4.0,'{"name": "IntDistribution", "attributes": {"log": false, "step": 1, "low": 0, "high": 4}}');
INSERT INTO "trial_params" VALUES(59,7,'order2',0.0,'{"name": "IntDistribution", "attributes": {"log": false, "step": 1, "low": 0, "high": 3}}');
INSERT INTO "trial_params" VALUES(60,7,'order3',2.0,'{"name": "IntDistribution", "attributes": {"log": false, "step": 1, "low": 0, "high": 2}}');
INSERT INTO "trial_params" VALUES(61,7,'order4',1.0,'{"name": "IntDistribution", "attributes": {"log": false, "step": 1, "low": 0, "high": 1}}');
INSERT INTO "trial_params" VALUES(62,7,'order5',0.0,'{"name": "IntDistribution", "attributes": {"log": false, "step": 1, "low": 0, "high": 0}}');
INSERT INTO "trial_params" VALUES(63,8,'order0',0.0,'{"name": "IntDistribution", "attributes": {"log": false, "step": 1, "low": 0, "high": 5}}');
INSERT INTO "trial_params" VALUES(64,8,'order1',1.0,'{"name": "IntDistribution", "attributes": {"log": false, "step": 1, "low": 0, "high": 4}}');
INSERT INTO "trial_params" VALUES(65,8,'order2',2.0,'{"name": "IntDistribution", "attributes": {"log": false, "step": 1, "low": 0, "high": 3}}');
INSERT INTO "trial_params" VALUES(66,8,'order3',0.0,'{"name": "IntDistribution", "attributes": {"log": false, "step": 1, "low": 0, "high": 2}}');
INSERT INTO "trial_params" VALUES(67,8,'order4',1.0,'{"name": "IntDistribution", "attributes": {"log": false, "step": 1, "low": 0, "high": 1}}');
INSERT INTO "trial_params" VALUES(68,8,'order5',0.0,'{"name": "IntDistribution", "attributes": {"log": false, "step": 1, "low": 0, "high": 0}}');
INSERT INTO "trial_params" VALUES(69,9,'order0',0.0,'{"name": "IntDistribution", "attributes": {"log": false, "step": 1, "low": 0, "high": 5}}');
INSERT INTO "trial_params" VALUES(70,9,'order1',0.0,'{"name": "IntDistribution", "attributes": {"log": false, "step": 1, "low": 0, "high": 4}}');
INSERT INTO "trial_params" VALUES(71,9,'order2',2.0,'{"name": "IntDistribution", "attributes": {"log": false, "step": 1, "low": 0, "high": 3}}');
INSERT INTO "trial_params" VALUES(72,9,'order3',2.0,'{"name": "IntDistribution", "attributes": {"log": false, "step": 1, "low": 0, "high": 2}}');
INSERT INTO "trial_params" VALUES(73,9,'order4',1.0,'{"name": "IntDistribution", "attributes": {"log": false, "step": 1, "low": 0, "high": 1}}');
INSERT INTO "trial_params" VALUES(74,9,'order5',0.0,'{"name": "IntDistribution", "attributes": {"log": false, "step": 1, "low": 0, "high": 0}}');
INSERT INTO "trial_params" VALUES(75,10,'order0',0.0,'{"name": "IntDistribution", "attributes": {"log": false, "step": 1, "low": 0, "high": 5}}');
INSERT INTO "trial_params" VALUES(76,10,'order1',1.0,'{"name": "IntDistribution", "attributes": {"log": false, "step": 1, "low": 0, "high": 4}}');
INSERT INTO "trial_params" VALUES(77,10,'order2',3.0,'{"name": "IntDistribution", "attributes": {"log": false, "step": 1, "low": 0, "high": 3}}');
INSERT INTO "trial_params" VALUES(78,10,'order3',0.0,'{"name": "IntDistribution", "attributes": {"log": false, "step": 1, "low": 0, "high": 2}}');
INSERT INTO "trial_params" VALUES(79,10,'order4',0.0,'{"name": "IntDistribution", "attributes": {"log": false, "step": 1, "low": 0, "high": 1}}');
INSERT INTO "trial_params" VALUES(80,10,'order5',0.0,'{"name": "IntDistribution", "attributes": {"log": false, "step": 1, "low": 0, "high": 0}}');
INSERT INTO "trial_params" VALUES(81,11,'order0',0.0,'{"name": "IntDistribution", "attributes": {"log": false, "step": 1, "low": 0, "high": 5}}');
INSERT INTO "trial_params" VALUES(82,11,'order1',4.0,'{"name": "IntDistribution", "attributes": {"log": false, "step": 1, "low": 0, "high": 4}}');
INSERT INTO "trial_params" VALUES(83,11,'order2',1.0,'{"name": "IntDistribution", "attributes": {"log": false, "step": 1, "low": 0, "high": 3}}');
INSERT INTO "trial_params" VALUES(84,11,'order3',2.0,'{"name": "IntDistribution", "attributes": {"log": false, "step": 1, "low": 0, "high": 2}}');
INSERT INTO "trial_params" VALUES(85,11,'order4',1.0,'{"name": "IntDistribution", "attributes": {"log": false, "step": 1, "low": 0, "high": 1}}');
INSERT INTO "trial_params" VALUES(86,11,'order5',0.0,'{"name": "IntDistribution", "attributes": {"log": false, "step": 1, "low": 0, "high": 0}}');
INSERT INTO "trial_params" VALUES(87,12,'order0',0.0,'{"name": "IntDistribution", "attributes": {"log": false, "step": 1, "low": 0, "high": 5}}');
INSERT INTO "trial_params" VALUES(88,12,'order1',4.0,'{"name": "IntDistribution", "attributes": {"log": false, "step": 1, "low": 0, "high": 4}}');
INSERT INTO "trial_params" VALUES(89,12,'order2',3.0,'{"name": "IntDistribution", "attributes": {"log": false, "step": 1, "low": 0, "high": 3}}');
INSERT INTO "trial_params" VALUES(90,12,'order3',1.0,'{"name": "IntDistribution", "attributes": {"log": false, "step": 1, "low": 0, "high": 2}}');
INSERT INTO "trial_params" VALUES(91,12,'order4',1.0,'{"name": "IntDistribution", "attributes": {"log": false, "step": 1, "low": 0, "high": 1}}');
INSERT INTO "trial_params" VALUES(92,12,'order5',0.0,'{"name": "IntDistribution", "attributes": {"log": false, "step": 1, "low": 0, "high": 0}}');
INSERT INTO "trial_params" VALUES(93,13,'order0',0.0,'{"name": "IntDistribution", "attributes": {"log": false, "step": 1, "low": 0, "high": 5}}');
INSERT INTO "trial_params" VALUES(94,13,'order1',4.0,'{"name": "IntDistribution", "attributes": {"log": false, "step": 1, "low": 0, "high": 4}}');
INSERT INTO "trial_params" VALUES(95,13,'order2',3.0,'{"name": "IntDistribution", "attributes": {"log": false, "step": 1, "low": 0, "high": 3}}');
INSERT INTO "trial_params" VALUES(96,13,'order3',2.0,'{"name": "IntDistribution", "attributes": {"log": false, "step": 1, "low": 0, "high": 2}}');
INSERT INTO "trial_params" VALUES(97,13,'order4',1.0,'{"name": "IntDistribution", "attributes": {"log": false, "step": 1, "low": 0, "high": 1}}');
INSERT INTO "trial_params" VALUES(98,13,'order5',0.0,'{"name": "IntDistribution", "attributes": {"log": false, "step": 1, "low": 0, "high": 0}}');
INSERT INTO "trial_params" VALUES(99,14,'order0',0.0,'{"name": "IntDistribution", "attributes": {"log": false, "step": 1, "low": 0, "high": 5}}');
INSERT INTO "trial_params" VALUES(100,14,'order1',4.0,'{"name": "IntDistribution", "attributes": {"log": false, "step": 1, "low": 0, "high": 4}}');
INSERT INTO "trial_params" VALUES(101,14,'order2',3.0,'{"name": "IntDistribution", "attributes": {"log": false, "step": 1, "low": 0, "high": 3}}');
INSERT INTO "trial_params" VALUES(102,14,'order3',2.0,'{"name": "IntDistribution", "attributes": {"log": false, "step": 1, "low": 0, "high": 2}}');
INSERT INTO "trial_params" VALUES(103,14,'order4',0.0,'{"name": "IntDistribution", "attributes": {"log": false, "step": 1, "low": 0, "high": 1}}');
INSERT INTO "trial_params" VALUES(104,14,'order5',0.0,'{"name": "IntDistribution", "attributes": {"log": false, "step": 1, "low": 0, "high": 0}}');
INSERT INTO "trial_params" VALUES(105,15,'order0',2.0,'{"name": "IntDistribution", "attributes": {"log": false, "step": 1, "low": 0, "high": 4}}');
INSERT INTO "trial_params" VALUES(106,15,'order1',3.0,'{"name": "IntDistribution", "attributes": {"log": false, "step": 1, "low": 0, "high": 3}}');
INSERT INTO "trial_params" VALUES(107,15,'order2',0.0,'{"name": "IntDistribution", "attributes": {"log": false, "step": 1, "low": 0, "high": 2}}');
INSERT INTO "trial_params" VALUES(108,16,'order0',2.0,'{"name": "IntDistribution", "attributes": {"log": false, "step": 1, "low": 0, "high": 4}}');
INSERT INTO "trial_params" VALUES(109,16,'order1',3.0,'{"name": "IntDistribution", "attributes": {"log": false, "step": 1, "low": 0, "high": 3}}');
INSERT INTO "trial_params" VALUES(110,16,'order2',2.0,'{"name": "IntDistribution", "attributes": {"log": false, "step": 1, "low": 0, "high": 2}}');
INSERT INTO "trial_params" VALUES(111,17,'order0',0.0,'{"name": "IntDistribution", "attributes": {"log": false, "step": 1, "low": 0, "high": 4}}');
INSERT INTO "trial_params" VALUES(112,17,'order1',3.0,'{"name": "IntDistribution", "attributes": {"log": false, "step": 1, "low": 0, "high": 3}}');
INSERT INTO "trial_params" VALUES(113,17,'order2',0.0,'{"name": "IntDistribution", "attributes": {"log": false, "step": 1, "low": 0, "high": 2}}');
INSERT INTO "trial_params" VALUES(114,18,'order0',3.0,'{"name": "IntDistribution", "attributes": {"log": false, "step": 1, "low": 0, "high": 4}}');
INSERT INTO "trial_params" VALUES(115,18,'order1',2.0,'{"name": "IntDistribution", "attributes": {"log": false, "step": 1, "low": 0, "high": 3}}');
INSERT INTO "trial_params" VALUES(116,18,'order2',0.0,'{"name": "IntDistribution", "attributes": {"log": false, "step": 1, "low": 0, "high": 2}}');
CREATE TABLE trial_system_attributes (
	trial_system_attribute_id INTEGER NOT NULL, 
	trial_id INTEGER, 
	"key" VARCHAR(512), 
	value_json TEXT, 
	PRIMARY KEY (trial_system_attribute_id), 
	UNIQUE (trial_id, "key"), 
	FOREIGN KEY(trial_id) REFERENCES trials (trial_id)
);
INSERT INTO "trial_system_attributes" VALUES(1,1,'mergebo:claim','{"order0": 2, "order1": 0, "order2": 1, "order3": 1, "order4": 0, "heat": 65.13777229056764, "dose": 3, "salt": "Na", "picks0": 0, "picks1": 0}');
INSERT INTO "trial_system_attributes" VALUES(2,2,'mergebo:claim','{"order0": 3, "order1": 1, "order2": 2, "order3": 1, "order4": 0, "heat": 59.269417129798434, "dose": 1, "salt": "Na", "picks0": 1, "picks1": 1}');
INSERT INTO "trial_system_attributes" VALUES(3,3,'mergebo:claim','{"order0": 4, "order1": 3, "order2": 0, "order3": 0, "order4": 0, "heat": 47.69958285273016, "dose": 1, "salt": "K", "picks0": 0, "picks1": 1}');
INSERT INTO "trial_system_attributes" VALUES(4,4,'mergebo:claim','{"order0": 4, "order1": 0, "order2": 2, "order3": 0, "order4": 0, "heat": 72.90692918065099, "dose": 3, "salt": "Na", "picks0": 0, "picks1": 1}');
INSERT INTO "trial_system_attributes" VALUES(5,5,'mergebo:claim','{"order0": 3, "order1": 1, "order2": 1, "order3": 1, "order4": 0, "heat": 22.144122318539033, "dose": 1, "salt": "Na", "picks0": 1, "picks1": 1}');
INSERT INTO "trial_system_attributes" VALUES(6,15,'mergebo:claim','{"order0": 2, "order1": 3, "order2": 0}');
INSERT INTO "trial_system_attributes" VALUES(7,16,'mergebo:claim','{"order0": 2, "order1": 3, "order2": 2}');
INSERT INTO "trial_system_attributes" VALUES(8,17,'mergebo:claim','{"order0": 0, "order1": 3, "order2": 0}');
INSERT INTO "trial_system_attributes" VALUES(9,18,'mergebo:claim','{"order0": 3, "order1": 2, "order2": 0}');
CREATE TABLE trial_user_attributes (
	trial_user_attribute_id INTEGER NOT NULL, 
	trial_id INTEGER, 
	"key" VARCHAR(512), 
	value_json TEXT, 
	PRIMARY KEY (trial_user_attribute_id), 
	UNIQUE (trial_id, "key"), 
	FOREIGN KEY(trial_id) REFERENCES trials (trial_id)
);
INSERT INTO "trial_user_attributes" VALUES(1,1,'order','["salt", "base", "water", "dye", "acid"]');
INSERT INTO "trial_user_attributes" VALUES(2,2,'order','["water", "acid", "dye", "salt", "base"]');
INSERT INTO "trial_user_attributes" VALUES(3,3,'order','["dye", "water", "base", "acid", "salt"]');
INSERT INTO "trial_user_attributes" VALUES(4,4,'order','["dye", "base", "water", "acid", "salt"]');
INSERT INTO "trial_user_attributes" VALUES(5,2,'mergebo:noise','0.2');
INSERT INTO "trial_user_attributes" VALUES(6,3,'mergebo:reason','""');
INSERT INTO "trial_user_attributes" VALUES(7,5,'order','["water", "acid", "salt", "dye", "base"]');
INSERT INTO "trial_user_attributes" VALUES(8,6,'mergebo:worker','"host/1:9527:84800"');
INSERT INTO "trial_user_attributes" VALUES(9,6,'order','["0", "2", "5", "4", "3", "1"]');
INSERT INTO "trial_user_attributes" VALUES(10,7,'mergebo:worker','"host/1:9527:84800"');
INSERT INTO "trial_user_attributes" VALUES(11,7,'order','["0", "5", "1", "4", "3", "2"]');
INSERT INTO "trial_user_attributes" VALUES(12,8,'mergebo:worker','"host/1:9527:84800"');
INSERT INTO "trial_user_attributes" VALUES(13,8,'order','["0", "2", "4", "1", "5", "3"]');
INSERT INTO "trial_user_attributes" VALUES(14,9,'mergebo:worker','"host/1:9527:84800"');
INSERT INTO "trial_user_attributes" VALUES(15,9,'order','["0", "1", "4", "5", "3", "2"]');
INSERT INTO "trial_user_attributes" VALUES(16,10,'mergebo:worker','"host/1:9527:84800"');
INSERT INTO "trial_user_attributes" VALUES(17,10,'order','["0", "2", "5", "1", "3", "4"]');
INSERT INTO "trial_user_attributes" VALUES(18,11,'mergebo:worker','"host/1:9527:84800"');
INSERT INTO "trial_user_attributes" VALUES(19,11,'order','["0", "5", "2", "4", "3", "1"]');
INSERT INTO "trial_user_attributes" VALUES(20,12,'mergebo:worker','"host/1:9527:84800"');
INSERT INTO "trial_user_attributes" VALUES(21,12,'order','["0", "5", "4", "2", "3", "1"]');
INSERT INTO "trial_user_attributes" VALUES(22,13,'mergebo:worker','"host/1:9527:84800"');
INSERT INTO "trial_user_attributes" VALUES(23,13,'order','["0", "5", "4", "3", "2", "1"]');
INSERT INTO "trial_user_attributes" VALUES(24,14,'mergebo:worker','"host/1:9527:84800"');
INSERT INTO "trial_user_attributes" VALUES(25,14,'order','["0", "5", "4", "3", "1", "2"]');
INSERT INTO "trial_user_attributes" VALUES(26,15,'order','["c", "e", "a"]');
INSERT INTO "trial_user_attributes" VALUES(27,16,'order','["c", "e", "d"]');
INSERT INTO "trial_user_attributes" VALUES(28,17,'order','["a", "e", "b"]');
INSERT INTO "trial_user_attributes" VALUES(29,18,'order','["d", "c", "a"]');
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
INSERT INTO "trial_values" VALUES(1,1,0,3.5,'FINITE');
INSERT INTO "trial_values" VALUES(2,2,0,1.25,'FINITE');
INSERT INTO "trial_values" VALUES(3,5,0,2.0,'FINITE');
INSERT INTO "trial_values" VALUES(4,6,0,41.0,'FINITE');
INSERT INTO "trial_values" VALUES(5,7,0,41.0,'FINITE');
INSERT INTO "trial_values" VALUES(6,8,0,48.0,'FINITE');
INSERT INTO "trial_values" VALUES(7,9,0,46.0,'FINITE');
INSERT INTO "trial_values" VALUES(8,10,0,47.0,'FINITE');
INSERT INTO "trial_values" VALUES(9,11,0,38.0,'FINITE');
INSERT INTO "trial_values" VALUES(10,12,0,36.0,'FINITE');
INSERT INTO "trial_values" VALUES(11,13,0,35.0,'FINITE');
INSERT INTO "trial_values" VALUES(12,14,0,36.0,'FINITE');
INSERT INTO "trial_values" VALUES(13,15,0,1.0,'FINITE');
INSERT INTO "trial_values" VALUES(14,15,1,2.0,'FINITE');
INSERT INTO "trial_values" VALUES(15,16,0,3.0,'FINITE');
INSERT INTO "trial_values" VALUES(16,16,1,1.0,'FINITE');
INSERT INTO "trial_values" VALUES(17,17,0,2.0,'FINITE');
INSERT INTO "trial_values" VALUES(18,17,1,4.0,'FINITE');
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
INSERT INTO "trials" VALUES(1,0,1,'COMPLETE','2026-11-18 21:18:32.591735','2026-11-18 21:18:34.109721');
INSERT INTO "trials" VALUES(2,1,1,'COMPLETE','2026-11-18 21:18:32.667251','2026-11-18 21:18:35.279104');
INSERT INTO "trials" VALUES(3,2,1,'FAIL','2026-11-18 21:18:32.701324','2026-11-18 21:18:36.561105');
INSERT INTO "trials" VALUES(4,3,1,'RUNNING','2026-11-18 21:18:32.735041',NULL);
INSERT INTO "trials" VALUES(5,4,1,'COMPLETE','2026-11-18 21:18:38.060145','2026-11-18 21:18:39.506680');
INSERT INTO "trials" VALUES(6,0,2,'COMPLETE','2026-11-18 21:18:40.954353','2026-11-18 21:18:41.064727');
INSERT INTO "trials" VALUES(7,1,2,'COMPLETE','2026-11-18 21:18:41.075893','2026-11-18 21:18:41.170312');
INSERT INTO "trials" VALUES(8,2,2,'COMPLETE','2026-11-18 21:18:41.178279','2026-11-18 21:18:41.269947');
INSERT INTO "trials" VALUES(9,3,2,'COMPLETE','2026-11-18 21:18:41.278005','2026-11-18 21:18:41.368722');
INSERT INTO "trials" VALUES(10,4,2,'COMPLETE','2026-11-18 21:18:41.376453','2026-11-18 21:18:41.470005');
INSERT INTO "trials" VALUES(11,5,2,'COMPLETE','2026-11-18 21:18:41.496713','2026-11-18 21:18:41.591300');
INSERT INTO "trials" VALUES(12,6,2,'COMPLETE','2026-11-18 21:18:41.608983','2026-11-18 21:18:41.701297');
INSERT INTO "trials" VALUES(13,7,2,'COMPLETE','2026-11-18 21:18:41.721015','2026-11-18 21:18:41.814235');
INSERT INTO "trials" VALUES(14,8,2,'COMPLETE','2026-11-18 21:18:41.832300','2026-11-18 21:18:41.926013');
INSERT INTO "trials" VALUES(15,0,3,'COMPLETE','2026-11-18 21:18:45.018873','2026-11-18 21:18:46.396115');
INSERT INTO "trials" VALUES(16,1,3,'COMPLETE','2026-11-18 21:18:45.075420','2026-11-18 21:18:47.321481');
INSERT INTO "trials" VALUES(17,2,3,'COMPLETE','2026-11-18 21:18:45.098706','2026-11-18 21:18:48.215669');
INSERT INTO "trials" VALUES(18,3,3,'RUNNING','2026-11-18 21:18:45.121642',NULL);
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
