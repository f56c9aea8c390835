CREATE TABLE public.checkpoint (
    pubsub_topic bytea NOT NULL,
    received_until bigint NOT NULL
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
    content bytea DEFAULT '\x'::bytea NOT NULL,
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
CREATE TABLE public.identity (
    id bigint NOT NULL,
    public_key bytea NOT NULL,
    list_key bytea DEFAULT '\x'::bytea NOT NULL,
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
    reply bytea,
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
    user_key bytea DEFAULT '\x'::bytea NOT NULL,
    push_token_hash bytea NOT NULL,
    platform bytea NOT NULL,
    token bytea DEFAULT '\x'::bytea NOT NULL,
    secrets bytea,
    token_code bytea,
    topic bytea,
    voip_token bytea,
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
    sealed bytea DEFAULT '\x'::bytea NOT NULL,
    secrets bytea
);
CREATE TABLE public.nextcloud_origin_push (
    id bigint NOT NULL,
    server bigint NOT NULL,
    device bigint NOT NULL,
    proxy bytea NOT NULL,
    subject bytea DEFAULT '\x'::bytea NOT NULL,
    signature bytea DEFAULT '\x'::bytea NOT NULL,
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
    is_coded boolean DEFAULT true NOT NULL,
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
    notification_id bytea,
    reason bytea,
    finished_at bigint,
    attempts bigint NOT NULL,
    deduplication_key bytea NOT NULL,
    key_hash bytea NOT NULL,
    installation_id bytea NOT NULL,
    token_type bigint NOT NULL,
    type bigint NOT NULL,
    apn_topic bytea NOT NULL,
    device_token bytea DEFAULT '\x'::bytea NOT NULL,
    chat_id bytea DEFAULT '\x'::bytea NOT NULL,
    ciphertext bytea DEFAULT '\x'::bytea NOT NULL,
    notification bytea,
    secrets bytea,
    registration bigint,
    refused_at bigint,
    counted_refusals bigint DEFAULT 0 NOT NULL,
    shortening bigint DEFAULT 0 NOT NULL,
    words bytea
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
    access_token bytea,
    device_token bytea,
    apn_topic bytea,
    grant_signature bytea,
    allowed_keys bytea,
    chat_lists bytea,
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
    is_coded boolean DEFAULT true NOT NULL,
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
INSERT INTO public.delivered_topic VALUES ('\x696f73', '\x6f72672e6578616d706c652e6d657373656e676572');
INSERT INTO public.identity VALUES (1, '\x033e34e35f475cc3eb685a56b7b465320b1a99eccd82820050cd42f84b74a53e28', '\x', 3);
INSERT INTO public.last_write VALUES (-8576789118203918396, 1, '2026-11-25 17:25:55.44916+00');
INSERT INTO public.last_write VALUES (-5770160094526840732, 27, '2026-11-25 17:26:00.710091+00');
INSERT INTO public.last_write VALUES (5963367434465240446, 26, '2026-11-25 17:26:01.115496+00');
INSERT INTO public.last_write VALUES (6769674588081719752, 26, '2026-11-25 17:26:01.617529+00');
INSERT INTO public.last_write VALUES (4776392421259694684, 30, '2026-11-25 17:26:01.648328+00');
INSERT INTO public.last_write VALUES (1070251737592519216, 25, '2026-11-25 17:26:01.651513+00');
INSERT INTO public.ledger VALUES ('\x766d', '\x73656e74', 1, 0);
INSERT INTO public.ledger VALUES ('\x766d', '\x7265636569766564', 13, 0);
INSERT INTO public.ledger VALUES ('\x766d', '\x70726f636573736564', 13, 0);
INSERT INTO public.ledger VALUES ('\x766d', '\x6163636570746564', 5, 0);
INSERT INTO public.message OVERRIDING SYSTEM VALUE VALUES (1, 1, true, '2026-11-25 17:25:55.9659+00', 3, false, 1795627555965325881, 1795627555963394940, 1795627555969040545, '\x87ab7ab47ec6397145b5bc5e90ecb59a738baf19b2abd345176990564c8ab10d', NULL, 17, NULL, '\x028c7013308fab63e9190144f982affc39e0da47cbc6ff792f5e6a19d2e128a3b3', '\x32616339356630302d303364342d383538642d396134332d633537616164326435356466', '\x2f77616b752f322f72732f31362f3332', NULL, '\x019455e636834a253f786ee6b39f59aca0dc26d6c1c26c8927b2d335abafd5c49406e3d2ef4eaf735aeed339c53b56a8c937d735d2f76bbad88ed3c112a62e4e9ab06f5a398b3dc8fd7b5fab4485af6b052b0a4854fc5165a48abc04ad8d8164110d692ae5', NULL);
INSERT INTO public.message OVERRIDING SYSTEM VALUE VALUES (2, 1, true, '2026-11-25 17:25:56.223764+00', 3, false, 1795627556223444570, 1795627556222385351, 1795627556225836143, '\xa3a960b07e9c4967faee218726c16deeec8adb0f2a2e346b6b5197bdb9274c2a', NULL, 17, NULL, '\x033c0ec5018c65fd131be49eb061630600a34b9e56b4dbb447192b3891dc2f5cfc', '\x31356231303631662d366239362d383139612d623532332d633436306434663833316664', '\x2f77616b752f322f72732f31362f3332', NULL, '\x0113c9954aa115347d34ccc87bc5314f8010e2ecadecc39c28abfe54d9f098d623dacf788f1f82b567a4d71efc03d5ff67ec4185b4d3cd2b51565e97737b08fcfdb40b1cffeec46be618dc221b5bbdd37c36aeab36710eefd278728d9523ea796d2692c85e', NULL);
INSERT INTO public.message OVERRIDING SYSTEM VALUE VALUES (3, 1, true, '2026-11-25 17:25:56.424095+00', 3, false, 1795627556423782220, 1795627556422539759, 1795627556426591532, '\xfd96374d97bcc336542270506913b1c89897885e0eeef7394086333ca6b13182', NULL, 17, NULL, '\x03e71b4cdaa19e4e68bd8d4fa093705ddd7d9fb664aa5430ca0be3b3192c86ffe3', '\x34366563376437392d336333302d383531342d623436352d353639626436303937613139', '\x2f77616b752f322f72732f31362f3332', NULL, '\x01ca9a9c0af4dfd4f9eb66b8ffaed0f7a2b139e7c4cc410491b0c83c1b538c478d5ee84bbb320b3e95717b8f1c15b18b20bc84239cde22e1fc689f403aa96191196497f1215bc9c6156346976396cabd3f716ed4388be965a3d4ec6b6cd472d6e0c00d17d9', NULL);
INSERT INTO public.message OVERRIDING SYSTEM VALUE VALUES (4, 1, true, '2026-11-25 17:25:56.760151+00', 3, false, 1795627556759859382, 1795627556758705572, 1795627556762207431, '\x30223926d87e3a9ef873fad4dba605a3a56d1a2c27991d697263e28a50b66181', NULL, 17, NULL, '\x0248317cd6274e9a3488fd3a414526d5350ef78fd0a33f7829434a2d7e304cff59', '\x66323633323436652d303035352d386161312d623639632d613732323162636535623035', '\x2f77616b752f322f72732f31362f3332', NULL, '\x01b7a743287865ab5ec2451799c500e29276f3f6a665030e65db0909d6e8a4c6d9a003618af5cd44d3ec613e7f2ec13de442006564e9a90625c2e5475fc15d57e8052c948bfcf520e505a5842b942ae1fa96f4cb9114a44b5e354187e287b0323e4e7f833c', NULL);
INSERT INTO public.message OVERRIDING SYSTEM VALUE VALUES (5, 1, true, '2026-11-25 17:25:56.902296+00', 2, false, 1795627556901942352, 1795627556898824873, 1795627556939430514, '\xa7a5717e1844bf9e03f6998e2296ef0b629f77ac873f36cada527bcb4ee27083', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.message OVERRIDING SYSTEM VALUE VALUES (6, 1, true, '2026-11-25 17:25:56.983266+00', 3, false, 1795627556983009281, 1795627556981673371, 1795627556984507811, '\x4cf090fdb91acbf8bce46b57dc443db285bbc93fe6f0e4a92f0b6583cadddf6d', NULL, 21, '\xa58a4f46d2f7acb9c0cca3936ae92d4aa38993b733668700ec5e2111a0d71d10', '\x03d4805687a015d5a5644ccc64a8d35151de71ecda35863b253801344c196e79d3', NULL, '\x2f77616b752f322f72732f31362f3332', NULL, '\x011a953e46bfe45ae1950a0222a1faca2c2363b76cb5c0e4f901400e7a79f94ff220522422473e43781f0dcd9c4f3e44bd04756900eba8c23f2505de16443dca3b1fe8bb832a0ec449ead51a083ba872ecbdc3cb1b8fa863b274823f1e33fc4e95c6a46dbe836aa853013df7af6814c7f3df1375e62c1a34e9baf5f6255fb9a65b0672074e8226c8eb88027393a84642a21a8faec39e89d28d926d8505def51f07c3dca6d93a396905b1b451cba361', NULL);
INSERT INTO public.message OVERRIDING SYSTEM VALUE VALUES (7, 1, true, '2026-11-25 17:25:57.099844+00', 3, false, 1795627557099582025, 1795627557098446663, 1795627557101147324, '\xb03f0967258ba898e3c518702b1d47f2401608715b9092e8860f5cad53d89998', NULL, 17, NULL, '\x03e71b4cdaa19e4e68bd8d4fa093705ddd7d9fb664aa5430ca0be3b3192c86ffe3', '\x34366563376437392d336333302d383531342d623436352d353639626436303937613139', '\x2f77616b752f322f72732f31362f3332', NULL, '\x012ce4ae6afea12f204d064006ce81b104a67b2b1bb64f97fc3cb62c04fc50f4b4f79948a66ae4a4a4f87e82da54d1ef948d1103f389245bc0c68845a29ff09bebbeb5df8ce86de031ac17d96a8ed4725d43e5317d5e6b23f0216626eaa2f35d1af6e469f8', NULL);
INSERT INTO public.message OVERRIDING SYSTEM VALUE VALUES (8, 1, true, '2026-11-25 17:25:59.098357+00', 2, false, 1795627559098065742, 1795627559096865890, 1795627559102952032, '\x83fc5c9bb459f70c1fbd49b54f5d48f256cee51d18522ad96a489eab6af64d62', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.message OVERRIDING SYSTEM VALUE VALUES (9, 1, true, '2026-11-25 17:25:59.119966+00', 3, false, 1795627559119679605, 1795627559118644377, 1795627559121660330, '\xd94cc70a2365e6fa064421d582e583073b6b00503e1bac772c0f8d765cbd09ab', NULL, 21, '\x5e5c64f4262faf3ba386a3133775e1a48e6401e538b37c87947797d8ee4af9ef', '\x02adfdaa5106c32feecafd2d83ef2154f43730d0dfbda473031984ed3830b524df', NULL, '\x2f77616b752f322f72732f31362f3332', NULL, '\x01cca56281bc3fd27b0aa2ae6ebf76e065f459a5166ab5263236d796f07f115a7d62bf67b723087c9674c99705bdee3756d413332e338f1082d85d0f1c1a1f2f96765ed5d6ff1d0cf6bf850c98ab355b571f76548cda0d97f73af91d0c5495b970220d207298c472ed6c75ee12d2536cbc29eaa88d851cee7c7a0647b72049a2280cedd623f917f5db6f3b6a47bf496066c81641b268e7fac7ac1ea3644dfa7be93b321d6849007dc82b95b2cb5fac', NULL);
INSERT INTO public.message OVERRIDING SYSTEM VALUE VALUES (10, 1, true, '2026-11-25 17:25:59.262473+00', 2, false, 1795627559262146694, 1795627559260912010, 1795627559266146671, '\x057b8de0f7cdc3b4bf0586dfe53f6afe041129a7461b33391429378d2b2c592c', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.message OVERRIDING SYSTEM VALUE VALUES (12, 1, true, '2026-11-25 17:25:59.372231+00', 2, false, 1795627559371458441, 1795627559370228539, 1795627559485247961, '\xccf23cb090e505dfa1ba987c27efeb4c7c766e51af8554d66d029fe0638617d1', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.message OVERRIDING SYSTEM VALUE VALUES (13, 1, true, '2026-11-25 17:25:59.55411+00', 3, false, 1795627559553818936, 1795627559552732516, 1795627559555502841, '\xf01a1cad3704a368e45ffae93d21516adb3fcdc714b8f756c722eb0c561bb33c', NULL, 21, '\xb25cbd17886fe48ce7bfc0957870caf6a65dc6c297158bf1c2ddad7358ee25bc', '\x02fd47960579b9f229dcf4e4f92ff54638815854d26d5da82e0d778bde7cd4bf35', NULL, '\x2f77616b752f322f72732f31362f3332', NULL, '\x012de7a8ea30090259c582fe69681330c7d730f8610690d03ba8eea3014ac58a2bbbe92640871b437ed8e0ae1af211e750cbdc3cdcc8d51c66f07007cec1173c0579f187aa3a9f01ad278e90e79b2524d904f29024cf488ee4bd8865309d733cb9bced17d51f2d67c49d9f6a7853a450b9b415ca1404d8400e024fd57b39c6831e1e3ebc215111a5f53cb1d899609c3e84a19b55ecfbcdf68529f7d001aa90494aa9c9e7ed17a46a4422f4828f71df', NULL);
INSERT INTO public.message OVERRIDING SYSTEM VALUE VALUES (11, 1, true, '2026-11-25 17:25:59.278199+00', 3, false, 1795627559277974635, 1795627559276865392, 1795627559280081216, '\xf0a4bae65491bd9b45e4d64e860474c7da65b4e5e0cf7d9901d67054794ef3b8', NULL, 21, '\x23f67c69b6d37cef80f1d9fbf44a32fa0dad3c79193872eb7a4c1e130504bdef', '\x034fb85d29f457cfa9e66133c20b195106061f61f1e7b3225575c0acb42a3a6f5c', NULL, '\x2f77616b752f322f72732f31362f3332', NULL, '\x011e4c0a4bccb3c403d095ef53658c88d023a7f594b8d6b6666b5f3c1e9612318c0cae8a430bfdcee14d4a154bf9e80a84cfa731b147863a1ea0915e0294c7546b170b4558724fa82aad8ea8d49d6209b3aa9f5d11464128a0e65cf4a6f74204f5f90e137219de0ed0953ddda5990f4a73dd7db01b98cb3b79ef73ddcf3da9b49b95355b66f27100610f3bd6bc3646273606c94ad833a3dee87092556f526fbdf205e60d95a7a65f5098cc67d58b2e', NULL);
INSERT INTO public.nextcloud_device VALUES ('\xfce1d2d4ddcab83f430af53063416c80761f479b3fdd2ee8207018e520a9d7ef9949753540a66fe066ac861caa244ecbecee3e3712ca55053e32ddd08a21b375', '\x', '\xf4d02f163244e4fc620adc27f284faf7cb4630a427d74649a281ea580df6676b065bb0aa05927310d9a90b88bfc85860d2fe60601bef67379d1dfcf0246a009e', '\x696f73', '\x', '\x0190244a735dda1a888e8fb50f6845cef1a97ab408998fe3dc20fd3898b52ea9b70aaa91b75455cc360c149e3f00d87d4000d098f2e6857831523d104d4a62654de72dd4afffddcdb46281719890851f255d22c914563eeab3003590b0b70c38ed8d2e4360546a8f930f1e4b92dab5f2029f07e8bc78cd9c2f49628e86e7d9f1732bae84164f7ca76f1876f62966b02945ce1346fb66e77ef3c31f0d9e80bacb61be2458cb036a0d20b1b813dd71b8f22561710bed8d0ba2fc40fbfa1bb3608502c709eb36f33cedb2edbc0b6ede5eb67984a88240c0f7bd632bef98db411091d55408982d41db718335a11c3cf6c8d0da4e27606c8bfe6f7a9e01076b269952b8a9311a81429478a3086a7d0abce72de88f6be60e7d91bafbdbb4cf9d1bf192f1811e726622e8ea34db46a42f4ddf1c31be1ceb4820bbe03ed5e8e37e8c7934c0aa6d3da9ae20647cd7321fb41175a238729c84fc868ec5a736490c71bdafd905a0c11b12914be35e1ec2a370abd46aa9b320de8fc182b02b141227325261d31a3a1d527968b2402e29a9', '\x99ade444f5b06b23d0c9aa60e4c48f4c', '\x6f72672e6578616d706c652e74616c6b', NULL, NULL, NULL, NULL, 1795627557654209986, 1795627557654209986, 1795627557654209986, NULL, false);
INSERT INTO public.nextcloud_device VALUES ('\xca94c83453dd7ae00f75bb79c3da9e84219aee2a079b5822f0872e04d988b4ce8d27b2cdc52cd722445f38bf9a7f93adda2acbb348aaa6fd1eda48aac3466ea9', '\x', '\x9e9718ef4a8d199faa0939ee4d55df95cb86fbbd06a3ea20a46ab2fce7d661759d9c0f215d246ba88a33599a511b09112968d798a5a804e6f1f713ed64b78d95', '\x696f73', '\x', '\x01a8d6b11395f6212ec7bf35becefe0fe905fc65eb1b701ba33220ed13814da48e0797685c6230d73aa37ec36957c0faedec494250a682399bad8c9829c85e174380428b24eacaa202cb3d67d534c844ca7a7a622e33a4ab98ca54d64605e9c6dd8c9605c8f9850ddfa78e0e1ec89c46ea74e54b85cff87acbfb014f809ae5b1a871813503a6fe2f22db16d35b2ffadab1e3574fa504daa62b805ea162ffdbcfc4d710b17f83b1d6031cae913e4994904431372af2d0cb3321d629eb71784fc2a652cbf8650ac22aaf5ac2a129feae62fb930381d1c6f5dd657c5936a615e7a05cbf7307657d794cc9de8c51168c72c430b77f1b1efe338174d577be2fe5aca3cbf80671ccfc1251dabbc11f2a28ab02b0243f12adfb8219f1ceb07b602057fe0fe861af63a38df59fab8683e4b4f94ea03150f2f1a0d34141f1a1c3a7f59e714066e54557e19a7bfd5cc958dfe323bbc0408cacb390823de7b8ee43773e8c711ff9e6e4fd8b5494317bf9b49a77d45a5c1440b7e2f6b4ade892178df3e2d6d7106981bc63d73de2561cf4', '\x2daaddc2d48454c5444e43a354a59607', '\x6f72672e6578616d706c652e74616c6b', NULL, NULL, NULL, NULL, 1795627557983946263, 1795627557983946263, 1795627557983946263, NULL, false);
INSERT INTO public.owner VALUES ('\xeea193b7da329336bfb10724f6d3c1e79fb88bdaa3c7b9a09d81e1a8fadacea21c56841e29b978eddb537aaac42859cd81c731402ab0ab0a5dcf372ba9aed08f');
INSERT INTO public.owner VALUES ('\x8cb691c0f8add2de2ce70826ec97b0a952a2a4642db119aa6a0c9c54d5b3b0a94afe4012326716135882e211167d740e0c7a6fbbd1c1a9b35a221f91ea9c83a6');
INSERT INTO public.owner VALUES ('\xe663742730decd6c6e9905a064750adf74bfb5452137e08706b49964bd7a06b8af0c858856b0c1960ff16fbadfdbe27975a2a4ac2b5615375a6faf78d5dfeab4');
INSERT INTO public.owner VALUES ('\xf124e28da9ca7a4f1c76c01496ec59600112275abb7b9cd57b32cdb0b8e4b83fc2dd1d48f3550471bc3bd2a2e0f561de3249193e06a3281a4e864960927fd585');
INSERT INTO public.probe VALUES (1, 1);
INSERT INTO public.push OVERRIDING SYSTEM VALUE VALUES (1, 1, 6, 1, '\x696f73', 2, 1795627556984507811, 9223372036854775807, 1795627556992920545, '\x01a213be208079f1aa27f631a2c8246d', NULL, 1795627556997642361, 1, '\xf5580110d680843599595fa8e040cd8554ecd2d1ff7bfd31363235b0962a6d0a', '\xeea193b7da329336bfb10724f6d3c1e79fb88bdaa3c7b9a09d81e1a8fadacea21c56841e29b978eddb537aaac42859cd81c731402ab0ab0a5dcf372ba9aed08f', '\x32616339356630302d303364342d383538642d396134332d633537616164326435356466', 1, 1, '\x6f72672e6578616d706c652e6d657373656e676572', '\x', '\x', '\x', NULL, NULL, 1, NULL, 0, 0, NULL);
INSERT INTO public.push OVERRIDING SYSTEM VALUE VALUES (3, 1, 11, 0, '\x696f73', 0, 1795627559280081216, 2, NULL, NULL, NULL, NULL, 0, '\x6f8afe9ea507245c4177dda13b1849096ecac0681fa3faa908aa2b07148eb595', '\xeea193b7da329336bfb10724f6d3c1e79fb88bdaa3c7b9a09d81e1a8fadacea21c56841e29b978eddb537aaac42859cd81c731402ab0ab0a5dcf372ba9aed08f', '\x32616339356630302d303364342d383538642d396134332d633537616164326435356466', 1, 1, '\x6f72672e6578616d706c652e6d657373656e676572', '\x', '\x', '\x', NULL, '\x01d1c35acfa8b8dba0a04140bf09d68080f8b89251bff5e65c2db07fe2680955ce80a30a9ff6fe83683f0ebf0f76801540b1cd054128c7637e5a681b223972a5aa4758f4ea7a9393a8bc66e31887943c7f972185514cdcde067b8328cefcf66c8683c0e53d5f1dfec2fe46aba0d0bc527f47269ad0ec2c9599d004c770017b80fe428039696a3c9da83ae02bc089f951f331236c929c4f6c9d43fe70d996443d9fbbe16fc07f2d8481836abcb1', 1, NULL, 0, 0, NULL);
INSERT INTO public.push OVERRIDING SYSTEM VALUE VALUES (4, 1, 13, 0, '\x696f73', 1, 1795627559555502841, 1, NULL, NULL, NULL, NULL, 0, '\xfdcf96996cc02b510bde7d24ad413bb3e249a8bfe2c131eb74f3237d7762c0d1', '\x8cb691c0f8add2de2ce70826ec97b0a952a2a4642db119aa6a0c9c54d5b3b0a94afe4012326716135882e211167d740e0c7a6fbbd1c1a9b35a221f91ea9c83a6', '\x31356231303631662d366239362d383139612d623532332d633436306434663833316664', 1, 1, '\x6f72672e6578616d706c652e6d657373656e676572', '\x', '\x', '\x', NULL, '\x010b54a0409bf86c2a21db3ed50df61d6cd9afe65c51df53be53df5cd88c0035f18780d7ed858d1d2113a0b00c3b973eadaae3edd42b4d25f71b6b28a74221a2c39df89d4f8c4cd85fc938137f460e377172ece4bc4149283115a30d70846176d110a471f74b58c4db3b2806ace86a9c6eaa6eed1189938e5e9d2c3bfd0dab6029bb0aa8318945b7e3aeac6b4a5b4e99e0c8242a83530415c28ada99a2f3c89b4b4d42ddf9662c3a446bd8bb4f', 2, NULL, 0, 0, NULL);
INSERT INTO public.push OVERRIDING SYSTEM VALUE VALUES (5, 1, 0, 0, '\x696f73', 1, 1795627559621458761, 1, NULL, NULL, NULL, NULL, 0, '\x2f6c7dd628e30d6be8cc5adcd15360b40a423daf665e0c943a613611d7e11f6c', '\xfce1d2d4ddcab83f430af53063416c80761f479b3fdd2ee8207018e520a9d7ef9949753540a66fe066ac861caa244ecbecee3e3712ca55053e32ddd08a21b375', '\x', 1, 0, '\x6f72672e6578616d706c652e74616c6b', '\x', '\x', '\x', NULL, '\x01d121216ac3802f67b11dcf5e1479c47e7f6407c0c386833d77a89e553229ba384810df6e6f3f5e832d8d8a4157ee8d2f354fafeef444c00a5f80558b2f2ab065984deaf7dfafd8863a7e10de128fb695c67be59ba77173c929a4620e59a8a3643e73cd84a173dd27b77464238e61bbf9f9fc10f48203cb8755845f068e7a927f78dfa374960c89e69946c0a4265d33a553d5bf32bf584802e0d542d96778e73488b0c3d0135f5444d9f51cca58f1c0fcaac94a9cc635aeb42bdf35560954f121710bf1855a634c9f704d19a38308dfadafd2c476362264c7cc64fea3f696d0765e2f6e2d8a71828672c7fd87d403a113a1c9da9bb2b530ba9ef41c425c2a3432c20f7469caf4ad5d2a9c273f32a36cc25f15f8d57634455aa9a8c65f169753c0d18eebe9c7d59f9f4881945149c3338be82e1df98c8e2c9771f60c412f39c50be6fa63526bdd56dfa1aa5aa0cf1d1107b8f63a6a8f91dfe46f4df391ffc28f414a889b6550ed4a028baecb7217d59ed1b050702a3dcefdff32af238f71e28bb041840aa84716afccdb60828d462be0193d8cbe9ebc235f959b036c736f7f6b9b8ede5185c0b60eeda4a51ecb40d048ec09790935b4139e070c49ae80fe500b9d38becdca5bb669757af119cbe3d34dfff1a3a25f9b9ea66233cc77ae3f6fc3d25ec9117041e38df0868f1180f736a7799281421117f4e09ad2565fec413a2d72647291146d42f3d561a10d3d5758a138bd499735c4bffaad916547eb34c32997557883a9c62715dc76c660cd668e8a2d95db932d01c0ce957cb77f4b090e79986352c9ede6b4d8627e1206574dbe9e4b33b09bc8b81f71d6561e2df749a9a8f126412ab65c47f23d98dcc183c10fc285d67a6a3ba187371d78b02cd67c1fcc745a070037aecf91360ffc77c560cac1b7191f20a4fb20aca8504ec0f3c553dd79ca1228d0f2947f53473befe17fc07cc2fd630a72fa9a615c9f6f11d2bd819171cb264912708e3870a1613b9cd02c593d0a39dd6072b50c3b4ac17f870bb7c1310c45742bbdcfa6cc3b145c6bf0087b994df643c97ef550f992532b08c823f980005ddc637b5edd8d14eb8d19ac39eac09052d1e26c96ba795c14a1ca26a10cbff3efd5f880f7c803e404f58f0806edb308b9f636d8041d8f7fff98228335cf7ad50b516b57ed2a790c108fe0f290cf258a7a23176ffe7664d79e92fc80121a10c003e89e8d5f6fac717538c10937cd0e0f95626ebbf02663eb85feb0336fcb07c2959eedb74c9cbe9a9a41acf0366ed7f2675d09b4d29499bb1fe5603bafd557b62ba1e92fd8522108fc7f9f9bd79ff40e1d341698428ea28d808c20a2904fd9f6b0cfc8733b4c2d7688a9898483fac698baf538f1912db64c84dc4a38fc97e3496977792f20c3281be83803af05bd860436ed74932af1d47c66c22c4b719efcc17943c0690b0c1bdbb1dcf4b8ac5f3fac82f2bd89ea364d7738b6af3fb83a0556ed1ffb90b1dc8625a75e57fae7b3b18dc7f1b2e0cf5db24ff32e2d69ebab204095adec5b9b614ef782c2f37a1c4fe1f8497bf7afe9e9b12112710baf85ec1e278744e0677086a7cab441b1c90fcd5721e08a2e7e8f8404e9a224b502abf232605c1041073a63b4f24fb1038176c54ef61364b2b8dfbc46af0427744f19b639215d98426b492ffd45c4f41f2cc57d2a8dcae64ed631eae83f7a6a87a849', NULL, NULL, 0, 0, NULL);
INSERT INTO public.push OVERRIDING SYSTEM VALUE VALUES (2, 1, 9, 0, '\x696f73', 0, 1795627559121660330, 0, 1795627560708571437, '\x01a213be2f0475239e5d7f9f75c564b2', NULL, NULL, 0, '\x10b85fe47749dfcfaeaceccbf2687d1232b4cdfbd35904a1cb7cf0b34ab60c68', '\xeea193b7da329336bfb10724f6d3c1e79fb88bdaa3c7b9a09d81e1a8fadacea21c56841e29b978eddb537aaac42859cd81c731402ab0ab0a5dcf372ba9aed08f', '\x32616339356630302d303364342d383538642d396134332d633537616164326435356466', 1, 1, '\x6f72672e6578616d706c652e6d657373656e676572', '\x', '\x', '\x', NULL, '\x01e0a541d610cd9b55002a2e41cc2a782f63bd8e329e28ce9c0a8081a55132ba0e6f43521f4bf06a70858c14675e7495f161f9dd02249866b959c417db784092db802fb4bae2c774f8c910d793da424d0268b9b328389f20635d8e361206dbc8a501d83a69bb9936a3855b11d47265b79ff3ea317f4e1bb466a34ef4c3f103f6a5fa58e6cf33157487a4b2aec2482f7fd574e663c76945c101c7e966607fb8c13548082309676e0458adaf54f3', 1, NULL, 0, 0, NULL);
INSERT INTO public.registration OVERRIDING SYSTEM VALUE VALUES (2, '\x8cb691c0f8add2de2ce70826ec97b0a952a2a4642db119aa6a0c9c54d5b3b0a94afe4012326716135882e211167d740e0c7a6fbbd1c1a9b35a221f91ea9c83a6', '\x31356231303631662d366239362d383139612d623532332d633436306434663833316664', true, true, -9223370241227219609, 1795627556225836143, '\xf2d84c968f97fe16eea8e49d341bb66c4aa204747b09b7270dcdcdd2645488dc', 1, true, false, false, NULL, NULL, '\x6f72672e6578616d706c652e6d657373656e676572', '\x817e3c0ffa0d33bd2caf0994344375e1acd937ac6b9a7cf69716f456135215696d5dc7a57a2fd9db1741e454d13723259f63fed22e3b40f9ab0324f770c04ff900', NULL, NULL, '\x0112d3a4739bc96e78f76da1c6046d12b76def85a3e19ccc1f165df2a93cbde263ac30b2c3db0333cfdca660c0c16f05b1b529c733b3a48edff0ba7f59be2b5c4586f033358b26e38f2d77b99579b90f87e865ca8b50d660ffb1355060e1e46deb1443fb4748f29342d8ca002f2fa6ebe37b715dbf80ff8a011fef3b0fda2bb748b0fcb5a4dfacb0d5', '\x68c18559ddeb9da65b1cb640df9a6222', NULL, NULL, NULL, NULL, NULL, 1151789279, 295080548, NULL, NULL);
INSERT INTO public.registration OVERRIDING SYSTEM VALUE VALUES (4, '\xf124e28da9ca7a4f1c76c01496ec59600112275abb7b9cd57b32cdb0b8e4b83fc2dd1d48f3550471bc3bd2a2e0f561de3249193e06a3281a4e864960927fd585', '\x66323633323436652d303035352d386161312d623639632d613732323162636535623035', true, true, -9223370241227219073, 1795627556762207431, '\xf2775b011ee4a857934b98140cb0a6fe3bae4d961a1e9f223cbb5fc0fe104ac2', 1, true, true, false, NULL, NULL, '\x6f72672e6578616d706c652e6d657373656e676572', '\x455d22acf27682a7ad2067e1cdbd3ba1e23de99b3c674710ec051deecc899c4720d3b9378f16a00efab6ab179088ce62c9b3486b70a94f659780834bd2f3e3c300', NULL, NULL, '\x01368993fa4f7d7090b6813c1813031153e2d192789b3844e46b334e1ba6c7536e9989b759b653c0242d98914ca6d045d615cab6a4a810f1893f1d2a031ed61e8627fab40e4a08e335d6c2504a411b10265d634dfa6fe224d5d6cd274ea382df59a4ef60eb0b8d7ef611805440dbe7727e226dbe1a5a461573b9c07c48e0957fce9f197ddfddfaa4b9', '\x9adf2345f874840903fb187e7d1c53c2', '\x01e2f8d6c63a2bdae251b702f6b3813a54f3cc47385936ed479b86e43d656a87dcd54f3ba50c61d725e410821096cf2a0a5e915ccbb9937420e051ef186f7d6d8e60e20661fa3f592899010b97274c40fa0b1a53bcf1ffb78aff0f2223d3652a4473b9', '\x01710921b120978531ba1abcf429ffe0cc15e94787ce448d4dbf6e861a9759ccc96146a44ff26ce7742963cf08efe638dc60aea4137b64d9f6ef7d1a1f3a3d67ebd65af06b48e6e4dc0c187b2d0e6394062e41641ec4e17dc5f5a220d29384c6157c07e52005a8314d332c22a25ab71b34d90d83df9b55b043959a1d012ac04102b12cfd2c2ce35da44710dda61c77d7e4861e52a982c3e97c9038178e4377d335ccf888fd', NULL, '\x26f335fd119d5749', '\x170e617e9ee288b8', 3530427799, 72559736, NULL, NULL);
INSERT INTO public.registration OVERRIDING SYSTEM VALUE VALUES (1, '\xeea193b7da329336bfb10724f6d3c1e79fb88bdaa3c7b9a09d81e1a8fadacea21c56841e29b978eddb537aaac42859cd81c731402ab0ab0a5dcf372ba9aed08f', '\x32616339356630302d303364342d383538642d396134332d633537616164326435356466', true, true, -9223370241227219869, 1795627555969040545, '\x6e6a6bdfc6547be0e1d23211370402c536e6c1079d11fb8e5f35b68b6693295c', 1, true, false, false, NULL, NULL, '\x6f72672e6578616d706c652e6d657373656e676572', '\x8a4ede495ae43d1721fd0c7b2a8ef2701fbed95a78d2fd9dc47f04f4513b2c794c602a3441777f4bf7e05f0d387f99626052e1fcd947d01246258eda3bf34e7d00', NULL, NULL, '\x01746567449179e7d1abe10caf5c41767cd3d23ff244d18be869197919aa31b69ea0c3a5679a22b27a8f239eb7aad907edb10729298d0c384d1b1046c35eb71a4247e061be3d7c1a10537a61e422ac326ec8961967ddddfdbbf0e0b43ae3793b39d458240ed030861e8f3fa35615d81da03c0bbcdac0c71aa16139382b2f6bf151ade9e8958f9d6103', '\x4ef509f6ec5be988093125caf1f6fcc0', NULL, '\x01cd880f212ebc85fe20ebb3804aa695c72ec824a77a0ec282af99d7d3ddb78b70a8ae2f2a6d8f91a8444f8a0083d4285ddf2055652bc41e7b42bfa365b5d09af17875a1ae707bbffdcba456bc21d230b08c9f6cc17b4f812eecd0194d45ee05ff1e225447c30580825af992d08d059c419de086a48948bdb26be12132809a508f95d5b2e6e51d097f23daa0fc9472d0b9ec416c75afb262aae7636c3d752cf052026c0571', '\x6dbd1070c6d17a74', '\x26f335fd119d5749', NULL, 2967169113, 2386475795, 1795627556997642361, NULL);
INSERT INTO public.registration OVERRIDING SYSTEM VALUE VALUES (3, '\xe663742730decd6c6e9905a064750adf74bfb5452137e08706b49964bd7a06b8af0c858856b0c1960ff16fbadfdbe27975a2a4ac2b5615375a6faf78d5dfeab4', '\x34366563376437392d336333302d383531342d623436352d353639626436303937613139', false, true, -9223370241227218725, 1795627557101147324, '\x534d2473caaf3c68dbe80daeebb93915f583ca7dc7b85d7097dfcefe1b835b3e', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.route VALUES (2, '\x', '\x616e64726f6964');
INSERT INTO public.route VALUES (1, '\x', '\x696f73');
INSERT INTO public.sealing VALUES (1, 1, 10, '\x');
INSERT INTO public.sealing_key VALUES (1, '\x01515394dd3582a9d9779a4b3e9f56e00ce92691aee3aa15eee9e48cf735028a3a272f22558cb0a4ff5e4ae5972dce1e9a83bd0681c8a232261c7877ed');
INSERT INTO public.server OVERRIDING SYSTEM VALUE VALUES (1, '\x766d', '\x302e312e30', '2026-11-25 17:26:16.617529+00', true, true, '\x');
INSERT INTO public.topic_key VALUES ('\xeea193b7da329336bfb10724f6d3c1e79fb88bdaa3c7b9a09d81e1a8fadacea21c56841e29b978eddb537aaac42859cd81c731402ab0ab0a5dcf372ba9aed08f', false, '\x831088017f75abde8af4c0a4d054cf17115acf317b57629f1751dc152bd4da6a');
INSERT INTO public.topic_key VALUES ('\x8cb691c0f8add2de2ce70826ec97b0a952a2a4642db119aa6a0c9c54d5b3b0a94afe4012326716135882e211167d740e0c7a6fbbd1c1a9b35a221f91ea9c83a6', false, '\x5c9cdde02b08c77fe656d99ba6248fe24bd550adf129fa4983d94c920cb5ab82');
SELECT pg_catalog.setval('public.dead_registration_id_seq', 1, false);
SELECT pg_catalog.setval('public.message_id_seq', 13, true);
SELECT pg_catalog.setval('public.nextcloud_origin_device_id_seq', 1, false);
SELECT pg_catalog.setval('public.nextcloud_origin_push_id_seq', 1, false);
SELECT pg_catalog.setval('public.push_id_seq', 5, true);
SELECT pg_catalog.setval('public.registration_id_seq', 5, true);
SELECT pg_catalog.setval('public.server_number_seq', 1, true);
ALTER TABLE ONLY public.checkpoint
    ADD CONSTRAINT checkpoint_pkey PRIMARY KEY (pubsub_topic);
ALTER TABLE ONLY public.damaged_row
    ADD CONSTRAINT damaged_row_pkey PRIMARY KEY (kind, "row");
ALTER TABLE ONLY public.dead_registration
    ADD CONSTRAINT dead_registration_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.delivered_topic
    ADD CONSTRAINT delivered_topic_pkey PRIMARY KEY (route, apn_topic);
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
CREATE INDEX nextcloud_device_by_token ON public.nextcloud_device USING btree (substr(token, 1, 16)) WHERE ((removed_at IS NULL) AND (token <> '\x'::bytea));
CREATE INDEX nextcloud_device_by_token_code ON public.nextcloud_device USING btree (token_code) WHERE (token_code IS NOT NULL);
CREATE INDEX nextcloud_device_by_use ON public.nextcloud_device USING btree (used_at) WHERE (removed_at IS NULL);
CREATE INDEX nextcloud_device_by_voip_token ON public.nextcloud_device USING btree (substr(voip_token, 1, 16)) WHERE (voip_token IS NOT NULL);
CREATE INDEX nextcloud_device_by_voip_token_code ON public.nextcloud_device USING btree (voip_token_code) WHERE (voip_token_code IS NOT NULL);
CREATE INDEX nextcloud_device_removed ON public.nextcloud_device USING btree (removed_at) WHERE (removed_at IS NOT NULL);
CREATE INDEX nextcloud_origin_push_by_device ON public.nextcloud_origin_push USING btree (device);
CREATE INDEX nextcloud_origin_push_by_proxy ON public.nextcloud_origin_push USING btree (proxy, id);
CREATE INDEX proven_token_by_time ON public.proven_token USING btree (delivered_at);
CREATE INDEX push_by_deduplication_key ON public.push USING btree (deduplication_key);
CREATE INDEX push_due ON public.push USING btree (server, route, trust, next_attempt_at, id) WHERE (COALESCE(finished_at, (0)::bigint) = 0);
CREATE INDEX push_finished ON public.push USING btree (finished_at) WHERE (finished_at IS NOT NULL);
CREATE INDEX push_open ON public.push USING btree (id) WHERE (COALESCE(finished_at, ('-1'::integer)::bigint) = '-1'::integer);
CREATE INDEX push_open_by_registration ON public.push USING btree (registration) WHERE ((finished_at IS NULL) AND (registration IS NOT NULL));
CREATE INDEX push_open_by_target ON public.push USING btree (key_hash, installation_id, id) WHERE (finished_at IS NULL);
CREATE INDEX registration_by_plain_topic ON public.registration USING btree (plain_topic) WHERE is_live;
CREATE INDEX registration_by_prefixed_topic ON public.registration USING btree (prefixed_topic) WHERE is_live;
CREATE INDEX registration_by_token ON public.registration USING btree (substr(device_token, 1, 16)) WHERE (device_token IS NOT NULL);
CREATE INDEX registration_by_token_code ON public.registration USING btree (token_code) WHERE (token_code IS NOT NULL);
CREATE INDEX suspect_token_by_route ON public.suspect_token USING btree (route, suspected_at) WHERE is_proven;
CREATE INDEX suspect_token_by_time ON public.suspect_token USING btree (tried_at);
