CREATE TABLE public.checkpoint (
    pubsub_topic bytea NOT NULL,
    received_until bigint NOT NULL
);
CREATE TABLE public.clock (
    server_name bytea NOT NULL,
    read_at bigint NOT NULL,
    expected_at bigint,
    held_for bigint NOT NULL
);
CREATE TABLE public.damaged_row (
    kind bytea NOT NULL,
    "row" bigint NOT NULL
);
CREATE TABLE public.dead_registration (
    id bigint NOT NULL,
    died_at bigint NOT NULL,
    reason bytea NOT NULL,
    route bytea NOT NULL,
    plain_topic bigint NOT NULL,
    prefixed_topic bigint NOT NULL,
    key_hash bytea NOT NULL,
    plaintext_digest bytea NOT NULL,
    secrets bytea
);
ALTER TABLE public.dead_registration ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.dead_registration_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.delivered_topic (
    route bytea NOT NULL,
    apn_topic bytea NOT NULL
);
CREATE TABLE public.delivering_day (
    day bigint NOT NULL,
    unused_budget bigint NOT NULL
);
CREATE TABLE public.identity (
    id bigint NOT NULL,
    public_key bytea NOT NULL,
    schema_version bigint NOT NULL,
    CONSTRAINT identity_id_check CHECK ((id = 1))
);
CREATE TABLE public.job (
    name bytea NOT NULL,
    server bigint NOT NULL,
    lease_ends timestamp with time zone NOT NULL
);
CREATE TABLE public.last_write (
    writer bigint NOT NULL,
    sequence bigint NOT NULL,
    written_at timestamp with time zone DEFAULT now() NOT NULL
)
WITH (fillfactor='50');
CREATE TABLE public.ledger (
    server_name bytea NOT NULL,
    milestone bytea NOT NULL,
    count bigint NOT NULL,
    pruned bigint NOT NULL
);
CREATE TABLE public.message (
    id bigint NOT NULL,
    server bigint NOT NULL,
    is_taken boolean NOT NULL,
    recorded_at timestamp with time zone DEFAULT now() NOT NULL,
    state bigint NOT NULL,
    is_unfinished boolean NOT NULL,
    received_at bigint NOT NULL,
    sent_at bigint NOT NULL,
    decided_at bigint,
    hash bytea NOT NULL,
    ignore_reason bigint,
    reply_type bigint,
    status_message_id bytea,
    recipient bytea,
    installation_id bytea,
    pubsub_topic bytea,
    sealed_reply bytea,
    envelope bytea
)
WITH (autovacuum_analyze_scale_factor='0', autovacuum_analyze_threshold='1000');
ALTER TABLE public.message ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.message_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.nextcloud_device (
    identifier bytea NOT NULL,
    push_token_hash bytea NOT NULL,
    platform bytea NOT NULL,
    secrets bytea,
    token_code bytea,
    topic bytea,
    voip_secrets bytea,
    voip_token_code bytea,
    voip_topic bytea,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    used_at bigint NOT NULL,
    removed_at bigint,
    is_dead boolean NOT NULL
);
CREATE TABLE public.nextcloud_origin_device (
    id bigint NOT NULL,
    user_name bytea NOT NULL,
    token_id bigint NOT NULL,
    identifier bytea NOT NULL,
    public_key bytea NOT NULL,
    push_token_hash bytea NOT NULL,
    proxy bytea NOT NULL,
    app_type bytea NOT NULL,
    last_seen bigint,
    created_at bigint NOT NULL
);
ALTER TABLE public.nextcloud_origin_device ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.nextcloud_origin_device_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.nextcloud_origin_key (
    user_name bytea NOT NULL,
    secrets bytea
);
CREATE TABLE public.nextcloud_origin_push (
    id bigint NOT NULL,
    server bigint NOT NULL,
    device bigint NOT NULL,
    proxy bytea NOT NULL,
    secrets bytea,
    priority bytea NOT NULL,
    kind bytea NOT NULL,
    expires_at bigint NOT NULL
);
ALTER TABLE public.nextcloud_origin_push ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.nextcloud_origin_push_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.operator_lock (
);
CREATE TABLE public.owner (
    key_hash bytea NOT NULL
);
CREATE TABLE public.probe (
    id bigint NOT NULL,
    count bigint NOT NULL,
    CONSTRAINT probe_id_check CHECK ((id = 1))
);
CREATE TABLE public.proven_token (
    token_digest bytea NOT NULL,
    delivered_at bigint NOT NULL,
    first_delivered_at bigint
);
CREATE TABLE public.push (
    id bigint NOT NULL,
    server bigint NOT NULL,
    message bigint NOT NULL,
    state bigint NOT NULL,
    route bytea NOT NULL,
    trust bigint NOT NULL,
    accepted_at bigint NOT NULL,
    next_attempt_at bigint NOT NULL,
    attempted_at bigint,
    reason bytea,
    words bytea,
    refused_at bigint,
    counted_refusals bigint DEFAULT 0 NOT NULL,
    shortening bigint DEFAULT 0 NOT NULL,
    finished_at bigint,
    attempts bigint NOT NULL,
    deduplication_key bytea NOT NULL,
    key_hash bytea NOT NULL,
    installation_id bytea NOT NULL,
    token_type bigint NOT NULL,
    type bigint NOT NULL,
    apn_topic bytea NOT NULL,
    secrets bytea,
    registration bigint,
    device bytea
)
WITH (autovacuum_analyze_scale_factor='0', autovacuum_analyze_threshold='1000');
ALTER TABLE public.push ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.push_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.registration (
    id bigint NOT NULL,
    key_hash bytea NOT NULL,
    installation_id bytea NOT NULL,
    is_live boolean NOT NULL,
    was_registered boolean NOT NULL,
    version bigint NOT NULL,
    updated_at bigint NOT NULL,
    plaintext_digest bytea NOT NULL,
    token_type bigint,
    enabled boolean,
    allow_from_contacts_only boolean,
    block_mentions boolean,
    apn_topic bytea,
    grant_signature bytea,
    secrets bytea,
    token_code bytea,
    sealed_allowed_keys bytea,
    sealed_chat_lists bytea,
    blocked_chats bytea,
    muted_chats bytea,
    allowed_mentions_chats bytea,
    plain_topic bigint,
    prefixed_topic bigint,
    delivered_at bigint,
    first_delivered_at bigint
);
ALTER TABLE public.registration ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.registration_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.route (
    token_type bigint NOT NULL,
    apn_topic bytea NOT NULL,
    name bytea NOT NULL
);
CREATE TABLE public.sealing (
    id bigint NOT NULL,
    key_id bigint NOT NULL,
    step bigint NOT NULL,
    "position" bytea NOT NULL,
    CONSTRAINT sealing_id_check CHECK ((id = 1))
);
CREATE TABLE public.sealing_key (
    key_id bigint NOT NULL,
    secret bytea NOT NULL
);
CREATE TABLE public.server (
    number bigint NOT NULL,
    name bytea NOT NULL,
    version bytea NOT NULL,
    lease_ends timestamp with time zone NOT NULL,
    is_leaving boolean DEFAULT false NOT NULL,
    is_fenced boolean DEFAULT false NOT NULL,
    part bytea DEFAULT '\x'::bytea NOT NULL
);
ALTER TABLE public.server ALTER COLUMN number ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.server_number_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.suspect_token (
    token_digest bytea NOT NULL,
    suspected_at bigint NOT NULL,
    tried_at bigint NOT NULL,
    route bytea DEFAULT '\x'::bytea NOT NULL,
    refusals bigint DEFAULT 1 NOT NULL,
    counted_refusals bigint DEFAULT 0 NOT NULL,
    first_counted_at bigint,
    is_proven boolean DEFAULT true NOT NULL
);
CREATE TABLE public.topic_key (
    key_hash bytea NOT NULL,
    is_prefixed boolean NOT NULL,
    topic_key bytea NOT NULL
);
INSERT INTO public.clock VALUES ('\x766d', 1795901175558393988, NULL, 0);
INSERT INTO public.delivered_topic VALUES ('\x696f73', '\x6f72672e6578616d706c652e6d657373656e676572');
INSERT INTO public.identity VALUES (1, '\x0344555fe276c769f9efd886ed6b75295fae392192c8e25195fe4695a9e95d883a', 4);
INSERT INTO public.last_write VALUES (6318987634455015095, 3, '2026-11-28 21:26:15.47817+00');
INSERT INTO public.last_write VALUES (-6387198253206876268, 32, '2026-11-28 21:26:20.604129+00');
INSERT INTO public.last_write VALUES (-6960479771052257809, 33, '2026-11-28 21:26:21.444676+00');
INSERT INTO public.last_write VALUES (6678582324760315073, 35, '2026-11-28 21:26:21.447159+00');
INSERT INTO public.last_write VALUES (-8614590918591563460, 33, '2026-11-28 21:26:21.506803+00');
INSERT INTO public.last_write VALUES (811851267705617804, 37, '2026-11-28 21:26:21.518649+00');
INSERT INTO public.ledger VALUES ('\x766d', '\x73656e74', 1, 0);
INSERT INTO public.ledger VALUES ('\x766d', '\x7265636569766564', 13, 0);
INSERT INTO public.ledger VALUES ('\x766d', '\x70726f636573736564', 13, 0);
INSERT INTO public.ledger VALUES ('\x766d', '\x6163636570746564', 5, 0);
INSERT INTO public.message OVERRIDING SYSTEM VALUE VALUES (1, 1, true, '2026-11-28 21:26:15.909235+00', 3, false, 1795901175908602565, 1795901175906613663, 1795901175912531659, '\xbef90279d9c9ead7bf14c0a231355f021887fa8ef57c73023f3cc9e98477a930', NULL, 17, NULL, '\x03062d997f6a78d57768a4313f0d6f9cd753170a0f853858ad2e2db64bf7034ff3', '\x33356432613537342d626166332d383262622d393962362d623735663739323466336462', '\x2f77616b752f322f72732f31362f3332', '\x0190ac8aed936d211bbb7bbe50b3b70ba0b176e245f5dd929be3bf1024a949ad0c5a88a36382edb34546608ab62dddda6e1320ef9d303e4f5d7098d147ad6311546af8de1349ba32db9ca54409c37d00339b99d48567b0497393b470622d6bde6762152ec8', NULL);
INSERT INTO public.message OVERRIDING SYSTEM VALUE VALUES (2, 1, true, '2026-11-28 21:26:16.083217+00', 3, false, 1795901176082921025, 1795901176081721764, 1795901176086010102, '\xd62443ce328b92ba355e0d21a4b787009c3c64c00a3db49ec67f65e0a978c490', NULL, 17, NULL, '\x02371a53443010b00f1af635d7d3b6c34c02a79e4934e49ab9024b01c02b7c12e4', '\x62313832303663352d363134632d383830662d393261662d663162336165336662313739', '\x2f77616b752f322f72732f31362f3332', '\x0185d811e0c7ab4f2f3cb240d95703a26de77f5852176e135952a30a8ca4f96752a6ec2f78f305b77e8a593ab89e9d501c3d5c03d9419ac0b02135060f0d56f15a2559da9a7e650739deb50c8883273e85b9f959e937687ce4aa4c2dc320ad9981fbbd59f7', NULL);
INSERT INTO public.message OVERRIDING SYSTEM VALUE VALUES (3, 1, true, '2026-11-28 21:26:16.201683+00', 3, false, 1795901176201360253, 1795901176200024497, 1795901176204174425, '\xc94432470f51669202b056d9956916431a68480b080a2feec6345cb773fe6141', NULL, 17, NULL, '\x029905c951887307f3d946221df17355147dc88e96affaab25980e3af76683a9a8', '\x35313066346630332d306235322d383431612d393936332d316639303161666161313430', '\x2f77616b752f322f72732f31362f3332', '\x01e23dd75c93c5a79c77bd2a6ce2a5f57232c3abb632988b3e5d0f2d803176ba8216a00fd47b035bc8e83f6f27d350642a49f11c4aafb33448e136a169e0dd30b46caec38e9f306a82e927d1b9e5e077acc27ce4ff2c0a5ef49231925aee5d84652e853a32', NULL);
INSERT INTO public.message OVERRIDING SYSTEM VALUE VALUES (4, 1, true, '2026-11-28 21:26:16.450385+00', 3, false, 1795901176450068843, 1795901176448570210, 1795901176453108688, '\x1b8b75255aaa60a83312d6f431fea4a3d9728aa8cbc5ceaea9e406994e4ebdd1', NULL, 17, NULL, '\x02da636cac47908bb6240518ce5de7240b4621f71b70fcaaf67434fe2b62e47b6a', '\x65636233363966362d343463622d386238372d386135332d373063346462623332336231', '\x2f77616b752f322f72732f31362f3332', '\x01afa3891910fc9eec6cdf57c4739c2dc58aff7c1d121ce5aad470cda627c045d84b171c5cd55abd4769fc4528c0ab4a7bcc15af9222daa7a6bc4e93db51d075b85de8a3519af4ca70dc911e560dbf56a85c1c904c53926cb5395c590d5289dec786ef084b', NULL);
INSERT INTO public.message OVERRIDING SYSTEM VALUE VALUES (5, 1, true, '2026-11-28 21:26:16.578648+00', 2, false, 1795901176578255585, 1795901176576717028, 1795901176583482825, '\x0e2b9944cc2fdc2c303e0d5a23bed193436597f9bccaed01d15d4315fa153284', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.message OVERRIDING SYSTEM VALUE VALUES (6, 1, true, '2026-11-28 21:26:16.609807+00', 3, false, 1795901176609519439, 1795901176608402653, 1795901176611419445, '\x3ccdc8f605e67163969e804c215dc971124cc928962cbacd23070c2248da599b', NULL, 21, '\x5896ac11d0dc5fa0618b5e38f708e0e57754c5997d47b0b39425424f98a8ba80', '\x039e58a7d43de2248982d091267b0c64e4854c4ca1682520655ba66e0281348c03', NULL, '\x2f77616b752f322f72732f31362f3332', '\x01bd52b42afd1909262c2f16f19d679dfe568ba96002f60f565328dbc22a3df70bb9a9b65dff276362785414ae4c639e1f34ea0d3ba310cce853cb364c934daf3b62c897bd54a80d35ab53d8285bcd464a54c820ccbfbfc3dbfeaf71960b0ab2f13878e86700dd56fcfda000aa1ebcf5a24287147a5a927150a4c913d272a6172bea1733eb4d4862c3423b36eb9ac3b2b2ca8a2d398ed45023a66e26ed0b44ebabaa4c24d9ea85b9136b418facee0c', NULL);
INSERT INTO public.message OVERRIDING SYSTEM VALUE VALUES (7, 1, true, '2026-11-28 21:26:16.712941+00', 3, false, 1795901176712644537, 1795901176711378140, 1795901176714536969, '\xef83a7f705f0d553bbd05bf80f95fc38597b367f0eee01f798afbf6e1f604b78', NULL, 17, NULL, '\x029905c951887307f3d946221df17355147dc88e96affaab25980e3af76683a9a8', '\x35313066346630332d306235322d383431612d393936332d316639303161666161313430', '\x2f77616b752f322f72732f31362f3332', '\x01071d992babc87dedb5d486e102992d052bf4604d55edb06386307b548c893809dbc6be8340941658a399e2a56fcd64e0fd5361d5864111ddb79db62f3f5d602bbbeffb3f4331e35a32f7d3462429b8ab22c3115dbeb64e2ab3fda80243ad74ab5eecb339', NULL);
INSERT INTO public.message OVERRIDING SYSTEM VALUE VALUES (8, 1, true, '2026-11-28 21:26:19.104841+00', 2, false, 1795901179104575803, 1795901179103288236, 1795901179109004704, '\x51f2c66cfbdc46269b103dbc633810e9bbb9ecea6f1e0c0fd1b273047bc8f8cc', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.message OVERRIDING SYSTEM VALUE VALUES (9, 1, true, '2026-11-28 21:26:19.136227+00', 3, false, 1795901179135961435, 1795901179134871900, 1795901179137687374, '\x3d93bb78bb13d058106048d57a6ce19bfb9116d2de656978ee1b06e53a312fa6', NULL, 21, '\x1c2743f86fc3098653991c88d7a01f9f9c9ad9a48d8d8a7dc59904f1c58de01c', '\x03f11e4e6f905c6b0842a9763b6a769e93448747ec355246978f3dad68b22e8ee0', NULL, '\x2f77616b752f322f72732f31362f3332', '\x010aa8955554f291492715e0de8f041886f52efa300426bab8d58b7da94769257c7f25330a2b1dd9ee6526d20da896d3f6cd8ea2d00781b272844383cf6f9ac22c38408b2c71995dd44d7110f0e9f80fb6dc9960291bec4b7882e6589f6dc8afb860ba870c4b0d07e5da5615628892d4140fa947d8220b8c0716966d74982ba8a9e4f3b9969f15672a142d135afe90002bbdfeb1bae433a1b2ec3b91b177d6f4bd612ce51e11c7d105714b56d5558b', NULL);
INSERT INTO public.message OVERRIDING SYSTEM VALUE VALUES (10, 1, true, '2026-11-28 21:26:19.249311+00', 2, false, 1795901179249038260, 1795901179247804124, 1795901179252737071, '\x68c1b6e5791eea1da4493347d719e9806575bcc8d083cf98f2c28b148e3c44f4', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.message OVERRIDING SYSTEM VALUE VALUES (12, 1, true, '2026-11-28 21:26:19.394578+00', 2, false, 1795901179394291201, 1795901179392857550, 1795901179397984422, '\x36674cedc1cd4433285dec1eeaaa212e2a86b733090f30cabb2929e9855e0d1c', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.message OVERRIDING SYSTEM VALUE VALUES (11, 1, true, '2026-11-28 21:26:19.280177+00', 3, false, 1795901179279938341, 1795901179278803281, 1795901179281659331, '\x513c9bcc5823f11bd6c507b59e1ee99cda2529daa7433fb889324b4740e541d9', NULL, 21, '\x3a28337027f288f3d6e75a0480aeff7c0a07ce200d7befce371a68722ab41db4', '\x02aaad35fa4293e19ded1e4be2b6e6376ac38087ab39923af6c120d1c2a8e89bf8', NULL, '\x2f77616b752f322f72732f31362f3332', '\x01fb00f4d5e7051f98f52981b83d8dc28169246c35929dcb47a7f9b6aa31ab8abe4d3f7fe2c5dbb73dbcd45871527cfdf1c2c8a430b7043dba62887fae98891269a839e9459d83a4799702163057cea03f92a5bd103cb5fed4839ea6c777561a18b3ea49676936d305d704ecef594a7435a0618dff4123ea073d32676da3454ab155a8151c3aa11657e405e5ac3bb4af93b5fef9a90b9792b23e5f24788e7e43d7e27e0e0a62cb31b128988dc28289', NULL);
INSERT INTO public.message OVERRIDING SYSTEM VALUE VALUES (13, 1, true, '2026-11-28 21:26:19.426124+00', 3, false, 1795901179425838657, 1795901179424588220, 1795901179427431125, '\xb3f8c089d5d3471f713324cf431b9d59503b390e34e76abdd5cf9f84ad98f0f4', NULL, 21, '\xe640fc00736d559ad81e9744c14d1875be3e3535622f071ae2772310ddfca976', '\x02c1b7e9831744ad51e9b0c940fd54ab29e3c555bf25f0a0363c8277d5658c22f2', NULL, '\x2f77616b752f322f72732f31362f3332', '\x018e8fa4fdc5a36752b41f51cad078ab0360f9e0b27f62504424efdf07cbde69b056e17173ad016c98c59e7d47f853329568b1a9f1c37ef7aa18d01a6620ccd770f3885db40c16977900b741678715341550caceffa30a4a49491f9291be6eaa7e79c43c517bb3a6d60e7a62f224cec999764ff9a81f1745545583c7dec3a30dff0d64d170d9fcf8c4a3499fe78b1a5b2bca489e5810cc29326de35ba2025f0af3e62b97e540fc74d2e17b4e6473d1', NULL);
INSERT INTO public.nextcloud_device VALUES ('\xfce1d2d4ddcab83f430af53063416c80761f479b3fdd2ee8207018e520a9d7ef9949753540a66fe066ac861caa244ecbecee3e3712ca55053e32ddd08a21b375', '\xf4d02f163244e4fc620adc27f284faf7cb4630a427d74649a281ea580df6676b065bb0aa05927310d9a90b88bfc85860d2fe60601bef67379d1dfcf0246a009e', '\x696f73', '\x018828718dfac7a97d6e808c35dbaf6d05cd8106340153b20c0d093b2072e53954d9e73f3d1f3d5bc28b834db8aaec0f0ced7d1234ab87166b0b3345467b177c495787aa406780174a4c77af087a20134baf3d22b32d8d0befd84d6fdcf5dd35f8422c2c6d715e4e3da5c7f1d8fe8d6037d415d4782947ae11be2366e3092aa9d2afc3f10fa475c6f31dc3c961adc2bb7291b694e9fac5a14271d0c4ff4473c0fc478713b8bc6d3703fa51f3d3b951dcaaafcf98d1bec23cadb867359f47d24698e7c232485ef734d3286ca8f020525cde773c12c0e8840bb316d59a80ed083ed3a1af586512dbc5a2f5100df27bb017aeb96b9256373b594e00ebd61e10cd199a17aa36ee1346e6a13d5882ee6ff3a077c47836e149cf6636052709efd09b3f57adcece40b518605af9c484205d343c30faad7b22fd9391ee3c0a8d872caefea490eb541ccf22a9c15ac926f09c83cb5a68d26a8f673f5f797587eb5c04bd52ab04f983a976c6204e00665f9ffd2377ac56705b50c6c11f11f7a1628b38f8e9d3124e7edc1e0a1f2a057c', '\x11a3f4c1163f7e2e83ce119ac3989d0e', '\x6f72672e6578616d706c652e74616c6b', NULL, NULL, NULL, 1795901177539613447, 1795901177539613447, 1795901177539613447, NULL, false);
INSERT INTO public.nextcloud_device VALUES ('\xca94c83453dd7ae00f75bb79c3da9e84219aee2a079b5822f0872e04d988b4ce8d27b2cdc52cd722445f38bf9a7f93adda2acbb348aaa6fd1eda48aac3466ea9', '\x9e9718ef4a8d199faa0939ee4d55df95cb86fbbd06a3ea20a46ab2fce7d661759d9c0f215d246ba88a33599a511b09112968d798a5a804e6f1f713ed64b78d95', '\x696f73', '\x016b692d44a1523d6edcde93c0a31ac11189f933f35f3d336beada987141872deca74179c93e27a7706ef3322ec187243558516ca460d373aa5ace3cfc5b55db0bce2cd95eb86cf0ca6da567f7a737a1cad508346f47ecc6d1e954d327a3e786d7e434818a9298537d3409039a0f33e4ccdcc90a8ab2b67189c651ae494b3f4b9df2c478a08a1ddc9da9a5c07ffe713861af4d034ad16e7fc5ddad59e9fe5bdf3a7498da21922e46676d4dc19f1ea7c4bb923bfd93a7063da98b66a3cf04641cebd3844d0fdf9fe321349833892931b59079450bc795ced3cd349dde7b98419e471f637cd3de830d690b9035650100da461ec963ae3d031b1d21c5389d6c6d0e279819bdbb0a95eb0a91fff74cd824b5304c5b2fdfb1e78d15ea9e252710f0ec0351781a71a43ac92fce09e6f03d37fbeb61014452ddb05b087f3806080755741538664008dea7adbb28882b2fafacb88afec8a412c77c49cece2dd53d3a231cb672747a8007ef260ada4325d44fd72eb06cf1a846d84adf203f04c15f69b1e1031749d82d460e1fbafb4c', '\x79716a2a303edd15cfd7087a10231141', '\x6f72672e6578616d706c652e74616c6b', NULL, NULL, NULL, 1795901178003201928, 1795901178003201928, 1795901178003201928, NULL, false);
INSERT INTO public.owner VALUES ('\x7974ccf4db592a7ccc71e16c37dab6fff5e8b2b2c5cc38434d686c706d62e7eba27e71c416391348d059a41150bf03b758d3bb3d3f30b94c9cea659d22ab6491');
INSERT INTO public.owner VALUES ('\xd0cb29e01ac7a6a6fa04cc577a0acf9c79b674874597874b78a4ca383e50831d52569fb4bc22f8b21b5f8bc672d964d237473a3cad4ae6f065c15f9d754db838');
INSERT INTO public.owner VALUES ('\xdc13cea0421d83a4cf88e160567d73b81070773a79f8d65476a6e126fc7b8634a449ba85f1b3f0928fc17d1b8db7a8442880284b90321ca574f6cb01b47a4a2b');
INSERT INTO public.owner VALUES ('\xbfa53e906fb2eb8abe6eaf03d0cb15d39425ef8b8b9ef68e5f8dc741ebad9879d9d611512dc2eb1e97f726b17dff06bebea6f0b43d6f37c2b1493dbaebc4c498');
INSERT INTO public.push OVERRIDING SYSTEM VALUE VALUES (1, 1, 6, 1, '\x696f73', 2, 1795901176611419445, 9223372036854775807, 1795901176622247296, NULL, NULL, NULL, 0, 0, 1795901176628045497, 1, '\x60659d98347fa241ae112dce1d1aa10d1462d375c17090376036c570b243cc56', '\x7974ccf4db592a7ccc71e16c37dab6fff5e8b2b2c5cc38434d686c706d62e7eba27e71c416391348d059a41150bf03b758d3bb3d3f30b94c9cea659d22ab6491', '\x33356432613537342d626166332d383262622d393962362d623735663739323466336462', 1, 1, '\x6f72672e6578616d706c652e6d657373656e676572', NULL, 1, '\xc81c439becfa52a1');
INSERT INTO public.push OVERRIDING SYSTEM VALUE VALUES (3, 1, 11, 0, '\x696f73', 0, 1795901179281659331, 0, 1795901179288176372, NULL, NULL, NULL, 0, 0, NULL, 0, '\x249dbd57d0d416c1d875a3fff6c85c03d79b8403c2057512e427495f8235be35', '\x7974ccf4db592a7ccc71e16c37dab6fff5e8b2b2c5cc38434d686c706d62e7eba27e71c416391348d059a41150bf03b758d3bb3d3f30b94c9cea659d22ab6491', '\x33356432613537342d626166332d383262622d393962362d623735663739323466336462', 1, 1, '\x6f72672e6578616d706c652e6d657373656e676572', '\x01650f724b3a59e8c018830ef6c6908a13e6c60dfdea8c0caaef0b254e7ada227d7e504b124005f0c07473b9ce7c7b5c2ab53bb67d8911aaa3c5ec2b3659bb400cb31cec5febb0b99b66eeec4ac1b7176ecae67ab82c43225e2b78c1cf4d6c252fb0d8e6a97c9ee053a5de1117e60f79c11aa8da257e799e93b628082f6e98848eea5b8a9ea8cca872baaabf297c6b661821ac95bae6a43fd81486566c1362fc9219c8d7daca3722ce1aba343f', 1, '\xc81c439becfa52a1');
INSERT INTO public.push OVERRIDING SYSTEM VALUE VALUES (5, 1, 0, 0, '\x696f73', 1, 1795901179495725776, 2, NULL, NULL, NULL, NULL, 0, 0, NULL, 0, '\xc5ed1ee883346478d5f19d9458a8682b67fbdf1a1dac88168d8476d06368475e', '\xfce1d2d4ddcab83f430af53063416c80761f479b3fdd2ee8207018e520a9d7ef9949753540a66fe066ac861caa244ecbecee3e3712ca55053e32ddd08a21b375', '\x', 1, 0, '\x6f72672e6578616d706c652e74616c6b', '\x01eed2903a4b04ee8b5a72ad5533cbe33fe83cc9dcf1c73d8639b3f715afa116b602d04b1b01db37a550419ff0fd53ec27fecb366b328ab62d21687d59e4dd11de67d8115b1b8cef548a08744f125f58d8f22158e72bde52ba00e63549d668757cf25df6496a60e041301214d3d77ded12d0a69d7f4c92607fe3800ebf08f09fd220632bb8343063fad24ba1d25679bce9e39a10f80397eb034988509db3c5271bb3b88216dda700883493d6c18ce9450116755f449efd8f21618c10a60cffa80d6d1ae357c7fed3021abee3d5a4d3783d6c9df4bf7903f70c83a77fce7640a5549a2209391ddc21e358ee168f166792a3d3f919f28665c2f261ca0c17c422db034c9aca3215adc3a4d0c1b71d7d1b591a7dac8375af654fe204ba99c84fa33157b3709f003e2fbea00f58cd1ae7b3a4fdac0996dd725ecd56234ad3f5a645820eebd81766f76fcdd0774199e4e3186578984084b19ef9c3b30845a2b9a7b72158d682ce2c77b844f512c0b036174d5dd4605c52ec5b98e6d8240085bd04dc19029dc862abb12e1e7e3209e6c19f634da2e384512c22736c75bfa245b447802c39f2979f65703fbbf568a8b0060cdcbc672919451ce74817f2355e1d762de734018df976bc1f08abc62e918dc306616224ec88d9abe7f8f1f1da5e66a42c4032844e136d3ca447541266b9ed8a59509acf98dcab57a386ab6a2e33f92a2f1de47ff4b2d03136c3fc7a01a8db855c11812f50b2e8cdd63e5b9932cb03777ff43363b25af98ac28795b26d8f386f60fd14ea11c943c2f47f803465cca4fba6b07633fed9a4725404b5c0eb7c580b63b96d1aac053779a085cd4e28c44e465d4f4c7cd64b72db4e66e75c639d787f1a867c48c0deb076651c0c16ee804fb8c5e8d349e66b956abbc0218409c776573a7d6923f67db77d6d5902e24ba114ede3d0ad737300e654a8ae6d3900ef114ebb2c94dc8212227abe2533f352a6bdedf60104c3f2e29fbeb02541c1a1f1b822c50be29e7a959df9dd062eb724b5fc0a08b0ff0cd929b572513d6617dc6efda1aa363682d958977dd28ea2a4b2f4c34a90c62365b353672b8ad697be14ed546ecd9f605d350b170c3e75cbffd2330bb1369272885752e5e86d4cd9d2aa5b5af412545fa1332bc93318a03f404e8233a6ee02e9fb1f1f981dc60712ce05bbb9cfd37fd6cd4cbbed599dd0314909e8f75c5eefa07406bf39e260178328652d21753b938ae411d01b357c257c69e1b056dcae97245b4ef3885d6e0f5fa445a229425a2fb66ec57c95e736ed3f035bfff1c83af84a2dbcaaa1fe0d69aca5c2e53612e54e86532fbd70ccb461288dbd8d39dac67b55650c95840f8a611e16deaa195adbd5c6f934ef01e7a6c14c4166394092b44dd03b593cb71661d7ab8fd284ba8dd0e70f51b1de200f6b65bdcf36369795fd999456bc78eb0f498b1bb57026bae4367445b77de97bd330908048d7cc23ebc54a60ed5a7740578ad81c2e778c0de458fdbe69ec998352d31f7606b512a9fff9158590c1d4c885cbbd948fbea30259c86f7b23e1dfe8801319a9365b4b037af638913e91876f10e5ed9398d71675b1b8abfa6f55f013506303c51c717b0ad4b253e41fe81b4b79fd1b0302d7e9e72fc8fa0ba16ec2755a6931c361e2a96f26a8ca247c98479a43b6f8fcbb1172fe5cddf1a985ba581b5174d597841dcddcc15536', NULL, '\xa5d3ff9528ec894c');
INSERT INTO public.push OVERRIDING SYSTEM VALUE VALUES (2, 1, 9, 0, '\x696f73', 0, 1795901179137687374, 0, 1795901180439322285, NULL, NULL, NULL, 0, 0, NULL, 0, '\xc471eb3c6de8478f0aac51341aa7a445447eb948082b6def1a5ba11cf41bc797', '\x7974ccf4db592a7ccc71e16c37dab6fff5e8b2b2c5cc38434d686c706d62e7eba27e71c416391348d059a41150bf03b758d3bb3d3f30b94c9cea659d22ab6491', '\x33356432613537342d626166332d383262622d393962362d623735663739323466336462', 1, 1, '\x6f72672e6578616d706c652e6d657373656e676572', '\x01106113d3b44ff68fb6f3cb00c2b11ee30fb6f2c6905ad0773442be59adbb3f92bd052e5fa61e80446313c641a724476ae85ff7a342847febba9ec09318cc8bbd8e94cbf79153ac7cc28402ff60153e8fbf61e7cf2a5afaef4ed0e1a39e8d133d82fe96e312796d80aee2ed6c82774f8d56b113bb5edf8f8175d77b92129734f74fa918c2815d01577d975682fb46087519d0527397706d1ad5a287d44ea96db9a54dd7678ea24d890095b7d0', 1, '\xc81c439becfa52a1');
INSERT INTO public.push OVERRIDING SYSTEM VALUE VALUES (4, 1, 13, 0, '\x696f73', 1, 1795901179427431125, 0, 1795901181444179362, NULL, NULL, NULL, 0, 0, NULL, 0, '\x7615d7400e36e876a69a015c8f9d2c1e49418f218cb2ba459165383f5836fba0', '\xd0cb29e01ac7a6a6fa04cc577a0acf9c79b674874597874b78a4ca383e50831d52569fb4bc22f8b21b5f8bc672d964d237473a3cad4ae6f065c15f9d754db838', '\x62313832303663352d363134632d383830662d393261662d663162336165336662313739', 1, 1, '\x6f72672e6578616d706c652e6d657373656e676572', '\x01825ad9cefa69e9c74d0360fa75aa66fc9180e047ca1b6c531d2a2d6bc956dd2b3664f9174408873f441c9fcd0ccc78dd9140dddd181f4d74416c2c737b707ab856e78f37c6f6a75ac1951cb453fdff0c83bda3b44eb1a15826d77063bc864ea7c0f4de4a3772369058d52464e8830fae997a9de6599dc3baffffc71e99fcadf8e6b7d690984fd74681d56881af82672c4064ed0f8a2ce4f864ca7bbecee52bd734f10105eeaaa2e963ada4da', 2, '\x4e042e18f4522d9c');
INSERT INTO public.registration OVERRIDING SYSTEM VALUE VALUES (2, '\xd0cb29e01ac7a6a6fa04cc577a0acf9c79b674874597874b78a4ca383e50831d52569fb4bc22f8b21b5f8bc672d964d237473a3cad4ae6f065c15f9d754db838', '\x62313832303663352d363134632d383830662d393261662d663162336165336662313739', true, true, -9223370240953599734, 1795901176086010102, '\x5cee02fe307b71fa16d3194922ab1991671624982b66a50074105e4f2ca9e830', 1, true, false, false, '\x6f72672e6578616d706c652e6d657373656e676572', '\x4f445565685da14e6788a080093f0ba3a212ca4cd98d2f2993aa21cbb5efa51a68847db515678647d5f4da4b93020b9c012c7bdcd6a073223219ddceeae965e900', '\x0172a7d31f93a0168ecff105af193effb2defb387d99cec4d66f53cd1aeaf8a77d3e6268b78fba6f73a7695ae6fa3a1aa69b4a8b984d10403835f551add56eb601067f0ae7eac1a32337af3d4cb5e739c37a429e9cecafcf657f4db2ce85f779579a8f429f74e72c286c6a19e00c044a01649a572ec54a3bff8a3cd04d9e9126d87c7b09f34d026811', '\x0986ec7f4b34d7db3f8b9372c9d391b4', NULL, NULL, NULL, NULL, NULL, 3259308330, 3547882459, NULL, NULL);
INSERT INTO public.registration OVERRIDING SYSTEM VALUE VALUES (4, '\xbfa53e906fb2eb8abe6eaf03d0cb15d39425ef8b8b9ef68e5f8dc741ebad9879d9d611512dc2eb1e97f726b17dff06bebea6f0b43d6f37c2b1493dbaebc4c498', '\x65636233363966362d343463622d386238372d386135332d373063346462623332336231', true, true, -9223370240953599368, 1795901176453108688, '\x20f5e5a86f58fb1652840abfd19ca02fc2a4f504543203bd389b945d7bc7bf1b', 1, true, true, false, '\x6f72672e6578616d706c652e6d657373656e676572', '\x293ddb7f4c25f38da7c08296a30116bf34563d946f31236ddc88a99640e2b66a339c763d6765cd4b79ae760f1ab45ba743fcf5a2d92f96d8fa72bee96c0c9ecf01', '\x01636dfebb4a7f4ad5ecba5bc2a3f72ab6f5d167ea158fee5abb141127e1bdcdf55f19d597f34c50b0e3593e1ba35dae41508ffde4bc579872a67190642779b0f0dd78cda90129a69873f598b3149d87d6b13d8130fdedfebd43959439393da55bc3b5172f476cdffbcbcd3c6dfc71a364eae145c0095962f9fb21e26f0027d8c213059b01538a8557', '\x17a7c8196cab8f3082ab50522002a729', '\x011471fe6ff0505ae2d2c9186ec7d9fc278b3358d667a20ff589befa7bc15f869701f62529a813f51b8603bfcd54ceab1f35e06e1092dd4b4d7f139cb94ea5da0ab9a7ec001d8d9b4fa6c313ed574a7447cd2ddc7fed3b583b3c819334cdcef07a1260', '\x01e3e82faddf64b45f634c7d6a15dc470c502ae41bba98a1198e9bc8966078a2ed064423b8dc5c2e8ebae907efa162b821e558d3498ea94923c8ec25831591a846e90e51a53ea6bf752520a7593c7922e64c9ec237a15d5bea1f6a54aeddab84b5b912952dbb4b53d08ffe866d9d1f883ae5815842792a7ee5f9150862e6781857f17b6ce9c8e8ec519d9c9fa38962cf5a9f3a1b743c06cb940bf52bec1f6138d8d1918004', NULL, '\x5c091fda83778510', '\xb12100e0274c2f56', 153051230, 166828460, NULL, NULL);
INSERT INTO public.registration OVERRIDING SYSTEM VALUE VALUES (1, '\x7974ccf4db592a7ccc71e16c37dab6fff5e8b2b2c5cc38434d686c706d62e7eba27e71c416391348d059a41150bf03b758d3bb3d3f30b94c9cea659d22ab6491', '\x33356432613537342d626166332d383262622d393962362d623735663739323466336462', true, true, -9223370240953599912, 1795901175912531659, '\x05370401efaafe6966120861b41c1f3eebdf511c970f59843ba59fc0a55d407d', 1, true, false, false, '\x6f72672e6578616d706c652e6d657373656e676572', '\x4a42292498792952c42f5fad5a2a1fd56125f1f0c617f7618b11a799fdf9634d02e06e2c36576f7cc52781330ca8c7ec201fc1d75a5788f35f434f9ad7b87afe00', '\x01a2a2d88189e3dabd034a6378b13857e11ffde45c4abfe5e0ccc2abde51065e34aeedb3db149fff8d3caf9a831c85c708c1eb19017d5030a0854506c6ecc10d0b1856ff67a3e5c0e48f52ba4907eece7844b694d846455fe6fa083977e57b81ca07ea89335b2f9c6fc006d9bd30c839fe8e6a26a8bf5a324f2f524cbdbd2722c0d27305cd1d4a9538', '\x75220af09f3b7d83dfc02cbcb806ac0b', NULL, '\x015a3721a8264d894a9cbc1dd38610acca65dda70cd686189246572be23f4c2604268c5aecf76ba91c88a898d68b107e634ad074a77ef39c348f471bfa12b4266428b9e834bc7044de6c960fd098cc89c64f39e3f5ac1d2960f32e692b65742c4b7a39b36496cf0d5a941dbe78679a417611b7002753fb87b92a112fb69f6dac084748ccd83e624a879f24eb81493f2e6e6bebab1d05304ad41aa798fc1bcd8ff0985c90ab', '\x4f9f2780e5e75f70', '\x5c091fda83778510', NULL, 1420971255, 3601980729, 1795901176628045497, 1795901176628045497);
INSERT INTO public.registration OVERRIDING SYSTEM VALUE VALUES (3, '\xdc13cea0421d83a4cf88e160567d73b81070773a79f8d65476a6e126fc7b8634a449ba85f1b3f0928fc17d1b8db7a8442880284b90321ca574f6cb01b47a4a2b', '\x35313066346630332d306235322d383431612d393936332d316639303161666161313430', false, true, -9223370240953599106, 1795901176714536969, '\x56ed5e46088e63896b8a88cee19072081df44649798f82cb8601c066fe9f8130', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.route VALUES (2, '\x', '\x616e64726f6964');
INSERT INTO public.route VALUES (1, '\x', '\x696f73');
INSERT INTO public.sealing VALUES (1, 1, 10, '\x');
INSERT INTO public.sealing_key VALUES (1, '\x018ec3ad0841f93c193cea33902984f1becc0957afb11569d3126a875c072548d78ad2a5cab4364818a5b8f995544622704a3e85253b059c1c0c5448b2');
INSERT INTO public.server OVERRIDING SYSTEM VALUE VALUES (1, '\x766d', '\x302e332e30', '2026-11-28 21:26:36.107069+00', true, true, '\x39386261373732343366326137363264');
INSERT INTO public.topic_key VALUES ('\x7974ccf4db592a7ccc71e16c37dab6fff5e8b2b2c5cc38434d686c706d62e7eba27e71c416391348d059a41150bf03b758d3bb3d3f30b94c9cea659d22ab6491', false, '\x2b426f98eeb82ba71bff8d1650480e360200cbc15ef053c3b7feee7930637080');
INSERT INTO public.topic_key VALUES ('\x7974ccf4db592a7ccc71e16c37dab6fff5e8b2b2c5cc38434d686c706d62e7eba27e71c416391348d059a41150bf03b758d3bb3d3f30b94c9cea659d22ab6491', true, '\x825c1f3f055ec336e4f7af2bacf1711e73dd99b9890e25bdda771a984b62c808');
INSERT INTO public.topic_key VALUES ('\xd0cb29e01ac7a6a6fa04cc577a0acf9c79b674874597874b78a4ca383e50831d52569fb4bc22f8b21b5f8bc672d964d237473a3cad4ae6f065c15f9d754db838', true, '\x12f586d04427c1c6274c6821dcb973b80d78891182e8f1cee0335e8a711305a8');
INSERT INTO public.topic_key VALUES ('\xd0cb29e01ac7a6a6fa04cc577a0acf9c79b674874597874b78a4ca383e50831d52569fb4bc22f8b21b5f8bc672d964d237473a3cad4ae6f065c15f9d754db838', false, '\xba79b8c1a506d133afa4c3b08f486ba5bbc1582b7d8b5e541129d87ba37299c6');
INSERT INTO public.topic_key VALUES ('\xbfa53e906fb2eb8abe6eaf03d0cb15d39425ef8b8b9ef68e5f8dc741ebad9879d9d611512dc2eb1e97f726b17dff06bebea6f0b43d6f37c2b1493dbaebc4c498', false, '\x98b5848fc904136a95a89ec561970268f3d6c41f49c39f402573b47bc0e303f0');
INSERT INTO public.topic_key VALUES ('\xbfa53e906fb2eb8abe6eaf03d0cb15d39425ef8b8b9ef68e5f8dc741ebad9879d9d611512dc2eb1e97f726b17dff06bebea6f0b43d6f37c2b1493dbaebc4c498', true, '\x8294fa540dd560148d7e219229ce6363ba5bd7ef191d9c9cb9cf5a95814f7701');
SELECT pg_catalog.setval('public.dead_registration_id_seq', 1, false);
SELECT pg_catalog.setval('public.message_id_seq', 13, true);
SELECT pg_catalog.setval('public.nextcloud_origin_device_id_seq', 1, false);
SELECT pg_catalog.setval('public.nextcloud_origin_push_id_seq', 1, false);
SELECT pg_catalog.setval('public.push_id_seq', 5, true);
SELECT pg_catalog.setval('public.registration_id_seq', 5, true);
SELECT pg_catalog.setval('public.server_number_seq', 1, true);
ALTER TABLE ONLY public.checkpoint
    ADD CONSTRAINT checkpoint_pkey PRIMARY KEY (pubsub_topic);
ALTER TABLE ONLY public.clock
    ADD CONSTRAINT clock_pkey PRIMARY KEY (server_name);
ALTER TABLE ONLY public.damaged_row
    ADD CONSTRAINT damaged_row_pkey PRIMARY KEY (kind, "row");
ALTER TABLE ONLY public.dead_registration
    ADD CONSTRAINT dead_registration_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.delivered_topic
    ADD CONSTRAINT delivered_topic_pkey PRIMARY KEY (route, apn_topic);
ALTER TABLE ONLY public.delivering_day
    ADD CONSTRAINT delivering_day_pkey PRIMARY KEY (day);
ALTER TABLE ONLY public.identity
    ADD CONSTRAINT identity_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.job
    ADD CONSTRAINT job_pkey PRIMARY KEY (name);
ALTER TABLE ONLY public.last_write
    ADD CONSTRAINT last_write_pkey PRIMARY KEY (writer);
ALTER TABLE ONLY public.ledger
    ADD CONSTRAINT ledger_pkey PRIMARY KEY (server_name, milestone);
ALTER TABLE ONLY public.message
    ADD CONSTRAINT message_hash_key UNIQUE (hash);
ALTER TABLE ONLY public.message
    ADD CONSTRAINT message_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.nextcloud_device
    ADD CONSTRAINT nextcloud_device_pkey PRIMARY KEY (identifier);
ALTER TABLE ONLY public.nextcloud_origin_device
    ADD CONSTRAINT nextcloud_origin_device_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.nextcloud_origin_device
    ADD CONSTRAINT nextcloud_origin_device_user_name_token_id_key UNIQUE (user_name, token_id);
ALTER TABLE ONLY public.nextcloud_origin_key
    ADD CONSTRAINT nextcloud_origin_key_pkey PRIMARY KEY (user_name);
ALTER TABLE ONLY public.nextcloud_origin_push
    ADD CONSTRAINT nextcloud_origin_push_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.owner
    ADD CONSTRAINT owner_pkey PRIMARY KEY (key_hash);
ALTER TABLE ONLY public.probe
    ADD CONSTRAINT probe_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.proven_token
    ADD CONSTRAINT proven_token_pkey PRIMARY KEY (token_digest);
ALTER TABLE ONLY public.push
    ADD CONSTRAINT push_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.registration
    ADD CONSTRAINT registration_key_hash_installation_id_key UNIQUE (key_hash, installation_id);
ALTER TABLE ONLY public.registration
    ADD CONSTRAINT registration_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.route
    ADD CONSTRAINT route_pkey PRIMARY KEY (token_type, apn_topic);
ALTER TABLE ONLY public.sealing_key
    ADD CONSTRAINT sealing_key_pkey PRIMARY KEY (key_id);
ALTER TABLE ONLY public.sealing
    ADD CONSTRAINT sealing_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.server
    ADD CONSTRAINT server_pkey PRIMARY KEY (number);
ALTER TABLE ONLY public.suspect_token
    ADD CONSTRAINT suspect_token_pkey PRIMARY KEY (token_digest);
ALTER TABLE ONLY public.topic_key
    ADD CONSTRAINT topic_key_pkey PRIMARY KEY (key_hash, is_prefixed);
CREATE INDEX dead_registration_by_time ON public.dead_registration USING btree (died_at);
CREATE INDEX message_by_status_id ON public.message USING btree (status_message_id) WHERE (status_message_id IS NOT NULL);
CREATE INDEX message_decided ON public.message USING btree (decided_at) WHERE (decided_at IS NOT NULL);
CREATE INDEX message_unfinished ON public.message USING btree (server, is_taken) WHERE is_unfinished;
CREATE INDEX message_unpublished ON public.message USING btree (recipient) WHERE (is_unfinished AND (recipient IS NOT NULL));
CREATE INDEX nextcloud_device_by_token_code ON public.nextcloud_device USING btree (token_code) WHERE (token_code IS NOT NULL);
CREATE INDEX nextcloud_device_by_use ON public.nextcloud_device USING btree (used_at) WHERE (removed_at IS NULL);
CREATE INDEX nextcloud_device_by_voip_token_code ON public.nextcloud_device USING btree (voip_token_code) WHERE (voip_token_code IS NOT NULL);
CREATE INDEX nextcloud_device_removed ON public.nextcloud_device USING btree (removed_at) WHERE (removed_at IS NOT NULL);
CREATE INDEX nextcloud_origin_push_by_device ON public.nextcloud_origin_push USING btree (device);
CREATE INDEX nextcloud_origin_push_by_proxy ON public.nextcloud_origin_push USING btree (proxy, id);
CREATE INDEX proven_token_by_time ON public.proven_token USING btree (delivered_at);
CREATE INDEX push_by_deduplication_key ON public.push USING btree (deduplication_key);
CREATE INDEX push_due ON public.push USING btree (server, route, trust, next_attempt_at, id) WHERE (COALESCE(finished_at, (0)::bigint) = 0);
CREATE INDEX push_finished ON public.push USING btree (finished_at) WHERE (finished_at IS NOT NULL);
CREATE INDEX push_open ON public.push USING btree (id) WHERE (COALESCE(finished_at, ('-1'::integer)::bigint) = '-1'::integer);
CREATE INDEX push_open_by_device ON public.push USING btree (device, id) WHERE (COALESCE(finished_at, ('-3'::integer)::bigint) = '-3'::integer);
CREATE INDEX push_open_by_registration ON public.push USING btree (registration) WHERE ((finished_at IS NULL) AND (registration IS NOT NULL));
CREATE INDEX push_open_by_target ON public.push USING btree (key_hash, installation_id, id) WHERE (finished_at IS NULL);
CREATE INDEX registration_by_plain_topic ON public.registration USING btree (plain_topic) WHERE is_live;
CREATE INDEX registration_by_prefixed_topic ON public.registration USING btree (prefixed_topic) WHERE is_live;
CREATE INDEX registration_by_token_code ON public.registration USING btree (token_code) WHERE (token_code IS NOT NULL);
CREATE INDEX suspect_token_by_route ON public.suspect_token USING btree (route, suspected_at) WHERE is_proven;
CREATE INDEX suspect_token_by_time ON public.suspect_token USING btree (tried_at);
