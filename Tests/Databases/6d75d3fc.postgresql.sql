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
INSERT INTO public.identity VALUES (1, '\x02fffea11340378098e334aeabc33ac759ad821e0781da6695e7628f73c8a4fcda', '\x', 3);
INSERT INTO public.last_write VALUES (7819723557929772975, 3, '2026-11-27 03:58:02.477585+00');
INSERT INTO public.last_write VALUES (4548716162421309354, 28, '2026-11-27 03:58:08.199706+00');
INSERT INTO public.last_write VALUES (2150509395108818279, 33, '2026-11-27 03:58:08.967311+00');
INSERT INTO public.last_write VALUES (-5368474027721471750, 25, '2026-11-27 03:58:08.97003+00');
INSERT INTO public.last_write VALUES (-6010211445896676214, 30, '2026-11-27 03:58:09.178894+00');
INSERT INTO public.last_write VALUES (-8191761170675144675, 26, '2026-11-27 03:58:09.183864+00');
INSERT INTO public.ledger VALUES ('\x766d', '\x73656e74', 1, 0);
INSERT INTO public.ledger VALUES ('\x766d', '\x7265636569766564', 13, 0);
INSERT INTO public.ledger VALUES ('\x766d', '\x70726f636573736564', 13, 0);
INSERT INTO public.ledger VALUES ('\x766d', '\x6163636570746564', 5, 0);
INSERT INTO public.message OVERRIDING SYSTEM VALUE VALUES (1, 1, true, '2026-11-27 03:58:03.049227+00', 3, false, 1795751883048639590, 1795751883046671365, 1795751883056986554, '\x125800055068b5760da4750d5ab3e3d5e1bfa1fdc84c3dc1a9fec4d11fae268f', NULL, 17, NULL, '\x03e74266b0a6c7f71c55c1b3b0f02c148affe72474890a9894af8e4d48bfa38404', '\x33343737326366332d306165382d383964352d386562332d323863323232303763366565', '\x2f77616b752f322f72732f31362f3332', NULL, '\x0164ed32aeb0665beccc5549d76b166b52f0a6b3305722ba8489d622393624b0c82ff80bd89c18be80b5646f2e5e6dc5bef9c553fb2937c1074348e2f4a8f8a8aeb736c4d8cfa5a1ee8be1f2f0b1a16b6ae45cf5bee6ea851179162cf78d563be194d78ece', NULL);
INSERT INTO public.message OVERRIDING SYSTEM VALUE VALUES (2, 1, true, '2026-11-27 03:58:03.433952+00', 3, false, 1795751883433579217, 1795751883431899410, 1795751883436274702, '\xb6cb2b0f53058b1e1e2d53612d4758be9ad4f42a39c483564c2c68e0b7bf0414', NULL, 17, NULL, '\x025625de425aed76ac27309378f7d3d25d96be1de672f99434947fc14df95a1138', '\x35346334376530332d666239352d386530372d623138662d333734373034303264323435', '\x2f77616b752f322f72732f31362f3332', NULL, '\x014d5716cccec48002ecab697bc411fc4ea34597d2520a5ab0e488c8fe889af1fa8ef7579afba06e4f4c766ffb88878f35aa244ceb933ae9bb7bc7ea64dba4900c7ee85f0c8ca28b6ba154e88ee9238a2cd6911885590bd47b56df8ccd27db14dc9aceae10', NULL);
INSERT INTO public.message OVERRIDING SYSTEM VALUE VALUES (3, 1, true, '2026-11-27 03:58:03.639494+00', 3, false, 1795751883637028644, 1795751883635240727, 1795751883642231696, '\xe00790093d1901fcf44a731978d71a7a48bdffb1d7300c2a1d4b28ad01da78d0', NULL, 17, NULL, '\x037f9092330405dd39646669041a96e863504a3072621d86865cdf9b992bbe6060', '\x63356238373132622d353338312d383439312d623738612d333661326635343762313166', '\x2f77616b752f322f72732f31362f3332', NULL, '\x0103bf10efcb32b3d88ba44e8ae8973d0ea6fc195e82d03951a1f7518072b3421ec2256141f6ea4b367b71781bb9ce482295b7c234b7cd43c4f6c4e002e97a04859feb1f6e205b65d7fcd21ee9526eecf68ce6aaca0acd881c0ac2def188eb0ce04cda51b3', NULL);
INSERT INTO public.message OVERRIDING SYSTEM VALUE VALUES (4, 1, true, '2026-11-27 03:58:03.97467+00', 3, false, 1795751883974376144, 1795751883972789887, 1795751883976877892, '\x5cfd53398abca7d471dc66b0a481628072e5c4ac7b867bb2bb1a6ec53a659733', NULL, 17, NULL, '\x02962bd2ada3395e6d222b8d1008fe6f504465a29fa906a61ab22f68524cdcbe63', '\x62303061623634632d613038662d386431312d393233342d663663366264636536336431', '\x2f77616b752f322f72732f31362f3332', NULL, '\x01f9f088d1459ce3a03b5aa74a67a8878ed5b3cf242f09cf2eb933e51697abae93d521fd2851c42a5df2f4767a78f64628a98a44eef99895b7aa0cff06f81d530d28c871caf930d7de3545c28ae48cc88e1ba2903471e49be08bd59b259120beb876eabc9b', NULL);
INSERT INTO public.message OVERRIDING SYSTEM VALUE VALUES (5, 1, true, '2026-11-27 03:58:04.127148+00', 2, false, 1795751884124740012, 1795751884122628014, 1795751884167174538, '\xc57efff26f2b3d86f3857bebdaffc7fda95b58fd23c30af7acba572adfb39499', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.message OVERRIDING SYSTEM VALUE VALUES (6, 1, true, '2026-11-27 03:58:04.217551+00', 3, false, 1795751884217222178, 1795751884215773045, 1795751884220624294, '\xf4c8dd14a257e61d744fbe68716c2c5e76ccb9234f48d56d92adde9aca41df74', NULL, 21, '\x73392a95db1254d56813539f4fba79f70d7a7edda41fa8008c4227594d01072e', '\x0245b06a2dc880ad68e1975c82025e1b86d8da176fe8ae09fe1c55ddf34123058f', NULL, '\x2f77616b752f322f72732f31362f3332', NULL, '\x010eed0224ac5c04be5e3893b86874ecfa0f6e894d23781fcfc57f4ad8dbadf770fc28fb2c9e8f91ae175bfa5314bab9985cb8487bb6c4745ecc0ae4284ba0ae91888314e0b23e694a01698b001692e1f3b6c682b5bb58546e037b751653560bfde61fba812a92cb7880b69e8a6a0f6b8f729aa8d7f83dc3d239beadb16d299948cb2e941e5c92c25f2e6b44c6baf4c444b56c222d3335ce50ff73618d58527bac0a0ce03ed624588f69a5845b03cb', NULL);
INSERT INTO public.message OVERRIDING SYSTEM VALUE VALUES (7, 1, true, '2026-11-27 03:58:04.445802+00', 3, false, 1795751884445510903, 1795751884444157372, 1795751884448170296, '\x089a06ef447908dd9dee3f8d092115833905e057001b158ca519fcfe6d012ef6', NULL, 17, NULL, '\x037f9092330405dd39646669041a96e863504a3072621d86865cdf9b992bbe6060', '\x63356238373132622d353338312d383439312d623738612d333661326635343762313166', '\x2f77616b752f322f72732f31362f3332', NULL, '\x012f71d5d13201cf5db6b55312e80cd79bf4e445b39f867a640515ff413b2ab865d2f77f747c7c8418f110d36c1e5df9f7ca67039df074c52ada2d43eb84c3035335e43c2c9a464479aff3e15e56cda51392413a253c38e265cd21806814f71f19202f6455', NULL);
INSERT INTO public.message OVERRIDING SYSTEM VALUE VALUES (8, 1, true, '2026-11-27 03:58:06.572383+00', 2, false, 1795751886572062425, 1795751886570584128, 1795751886579521290, '\xf79042bb3361ffb3b784053024ecad600b42e4efa3b0f68a760c4d328ab8ea2e', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.message OVERRIDING SYSTEM VALUE VALUES (9, 1, true, '2026-11-27 03:58:06.607918+00', 3, false, 1795751886607601719, 1795751886605292277, 1795751886610352838, '\xb25a2011270203943aa25edcda892e256062f622b70077a8a7def95ad3d35c2d', NULL, 21, '\x53843326c45627c46d56348520213044425776c4e260ce75f7a807be5df880a0', '\x02a23a211065830a5143faf12fbf44944e302306694ab4a6d7b3e1b7780d8b3a8d', NULL, '\x2f77616b752f322f72732f31362f3332', NULL, '\x01be805b0f24b17818a3ed80dabb30dbf8449cceba9c25e1f991b7245271641d2711bc89b562bcfb77821944dc6f477006c9e1ae1fed2ba4dd08e262658fe532a6165fc36e17b65543e4dafbb0180b74f2bc61d45a4d8b7fd554e3440c7c2ca29641de1de3e1d966d82deb4aa13f12e92357b87cf427cd70e30e1c0493d6fc74db19387c2b1d87759ba62d322cae6fd70b31ff089ef57d0315494aea61b431f555b3d7c9751fb8fa5a0b9e9982c7b8', NULL);
INSERT INTO public.message OVERRIDING SYSTEM VALUE VALUES (10, 1, true, '2026-11-27 03:58:06.765049+00', 2, false, 1795751886764581204, 1795751886762236790, 1795751886771159239, '\xd22c2ce54cb335f13b74ffaafe9b3ec259efe60923c867a03c5a2b9ded010705', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.message OVERRIDING SYSTEM VALUE VALUES (12, 1, true, '2026-11-27 03:58:06.990712+00', 2, false, 1795751886989331491, 1795751886987532667, 1795751887034784828, '\x45896922773ffaa4f64aad87bbc001c49ae216eb1b411c3488e5238de77884cc', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.message OVERRIDING SYSTEM VALUE VALUES (13, 1, true, '2026-11-27 03:58:07.077121+00', 3, false, 1795751887076643904, 1795751887074833153, 1795751887079870719, '\xa5caf18ac7cac04c2e5499918de2886b340f1a1b7c480e802975d94db5231ef9', NULL, 21, '\x14633bebf72d8ecbaf0b0e9d05f1de2aadc4f2a04a41cc59618f4aa701ab219f', '\x0328ea5e36724546c336a05b7bf82dfa52b4884b0994e020e2bd31dcffedb9f277', NULL, '\x2f77616b752f322f72732f31362f3332', NULL, '\x010147a7168affa20f2a12bb4dbf91515764aa657b8a72c1f98c3971b4d5f49d4b575393bbff942b04fb43c608cd5c916f320fdd518edc0eda8a20a2990422ce1f87e8878f41935ef95637448f1a3307044292c45313037a811d761007298c2cf5a4064ad4e8f055685e0896c23294127e9539fb2c7c4502da99dc056635cd04080009047766ec71a8e156e2175b1ad9fda44386097d5c8b08cb445b36ec260c5f4ee6787e7b9e48c4798f64b970dd', NULL);
INSERT INTO public.message OVERRIDING SYSTEM VALUE VALUES (11, 1, true, '2026-11-27 03:58:06.798676+00', 3, false, 1795751886798109409, 1795751886796358497, 1795751886801979501, '\xcbbd445d4ea045db63c55dbe5a5d1652b4121fec80d7e49de176a0764049cfe0', NULL, 21, '\xf9153488ae3e01161d7bd21224a7710042f91257e24384ce678eaa1807cbc5b6', '\x025f9651e08174f046d67dc365690432216f10c4e70cbdd1b42c4533ebe28533d3', NULL, '\x2f77616b752f322f72732f31362f3332', NULL, '\x010083a868116d99c664a43cea895a535396a8ce71935c31d57449e955ab05f4d71b0b389e02305448a92535e4fd08becd58f7fb535daa2f2f4301b0e89c261928aef6c7f7b651e2717029bc6f2d67cd10991c41c51739764dcff18907f03ea93917b816d01427d5e9291e2053ca32447eb953b494cb3c456e758d62c3866b766dc1bed3dcf653c1719535e4010d2ccebd353495d03dd6f9a6f860f28bc4c92d468ea284e73ac8184f582909263932', NULL);
INSERT INTO public.nextcloud_device VALUES ('\xfce1d2d4ddcab83f430af53063416c80761f479b3fdd2ee8207018e520a9d7ef9949753540a66fe066ac861caa244ecbecee3e3712ca55053e32ddd08a21b375', '\x', '\xf4d02f163244e4fc620adc27f284faf7cb4630a427d74649a281ea580df6676b065bb0aa05927310d9a90b88bfc85860d2fe60601bef67379d1dfcf0246a009e', '\x696f73', '\x', '\x01fd2f01c66a7d8b4ee59061c605ab89ac528837719cbdd1f758a1a17ab0de4a63850e68e631314fc941eb4fc81b457bd7146efc4f26e1d7ab15550beacc24684063ffbc826ed743ccbba1c2a292be062bee678df5bd8d62eac2a3e47183166fef5cc4e6134e669c90f406a9dbd5b4ee51de51ce129654fd159a21a9d9ec04f1190f38a2386ca18136533949b45dac8c8418ed1d3d905bd6544d6fb4ae26d290480daa71156890a1295869e4dec4d1582db0dbcd854de2e1eef51927b44aeb125e0a2b96484faa7dc6c48a05e7d8dab7153656d56dbdf46502f00b9b806d598c71f23fde57000cb90b789273b7ed48f0db310db9101a572354673ee1d563207a14c60341bf4e600738fdb83692b6be8201ccc841c8a5425be2ce1040f4e9ca50d52110641a1ea168d22102c4c03bcc08677b34d192315a217f15af2625eb7119e2257f3fc2370c5e812db7d126277d1813dfa404c3169333ea00ce43f9109072592dac80ed84d2665d0717de2d4a378b0d6ab3448f61e6fccb0d493de3284a274be1a04d327cc34cc18c40', '\xbb3ceb20a853b52d55447cea7893020f', '\x6f72672e6578616d706c652e74616c6b', NULL, NULL, NULL, NULL, 1795751884774903127, 1795751884774903127, 1795751884774903127, NULL, false);
INSERT INTO public.nextcloud_device VALUES ('\xca94c83453dd7ae00f75bb79c3da9e84219aee2a079b5822f0872e04d988b4ce8d27b2cdc52cd722445f38bf9a7f93adda2acbb348aaa6fd1eda48aac3466ea9', '\x', '\x9e9718ef4a8d199faa0939ee4d55df95cb86fbbd06a3ea20a46ab2fce7d661759d9c0f215d246ba88a33599a511b09112968d798a5a804e6f1f713ed64b78d95', '\x696f73', '\x', '\x0114dd902b65eb2a1563ef7624a852949e2821e6d0652ad8c9cd88b18d08f81ceaea1e268968bde7be239e3ca1d16dad3e5f88f3c1d0877abcb1541faf6401a9a40384a044119fb38a2764597846cbced0507c98dad2f393c5bf938baa7dd8985e053907036478543d00a5f044b680c8ac0b2b67fc1b54ce5dd6b92738f9cdb04f17279c979106b7a496340747549fac48aea370368e560cc9397fabc295980b773381608388c6abd44de76700f00fea1f16b71e5169d6dd44d2b836aadda279b5f29068881d18416d875a268bfdcfcfc6f01ffd4adb81bf96754d739ec80e2612c140c2f380d69af5e3a1ed84c6e20c62549e9f97a5dfc0ccf93214f9c633cf8f8b3b0338d20a28d65493ca7b1d0015b8ac6133a0e2d360411339490b64565151f1303214720dc35bc6efeebe680aa0f9e2a4d72067a4d1f00a6910938039e913aeec6aa613085411c89e3fc8959ec0fa616a0a1c8a27a6c8278b8a206976d7ee84d9ae60c7f7ae82512536399a246ac96a461120a5b962673bd62331d3fec39e92847f06a11205bb804a', '\x51ed9f6f19dc0a0b03b41d025e5ae9f6', '\x6f72672e6578616d706c652e74616c6b', NULL, NULL, NULL, NULL, 1795751885476459341, 1795751885476459341, 1795751885476459341, NULL, false);
INSERT INTO public.owner VALUES ('\x92d8caaff80d1f47a2e9de3611c619a9b95cee9668cab822e9dabda3720246662f9e8c53f05ff241f6249c1142cdb74f874ade9ce8205425ce45746bad5aaa03');
INSERT INTO public.owner VALUES ('\x16eea6b59d5a097981345cc2b1b8eb52bee39c27f4fa5ec7c9bfae5c26922abf01d4be19125ac621099b32cec1855f320474665598e6b008fe5d2eec0d2eb2ef');
INSERT INTO public.owner VALUES ('\x2c08ff7f227580224667b47169c8124204126819ce19028815dd5ac5544d20d88ad1b8af68ad71c879d7251e1dfd8c430c162249f9c238e4b3b71c8f94753907');
INSERT INTO public.owner VALUES ('\xf2c4764bb059c0229b08fc1722bbcd540363842ffb131062dbbbb152252c6d5e4316e69e515dc8b19e949b44bc44f09ee65081c92cca0c687c9acac33159d5a0');
INSERT INTO public.probe VALUES (1, 1);
INSERT INTO public.push OVERRIDING SYSTEM VALUE VALUES (1, 1, 6, 1, '\x696f73', 2, 1795751884220624294, 9223372036854775807, 1795751884232963922, NULL, NULL, 1795751884243756966, 1, '\x0019c49c0b3a9767e2d3e1e41973ccf326c7762ff00f65f635656559f4a5f3fa', '\x92d8caaff80d1f47a2e9de3611c619a9b95cee9668cab822e9dabda3720246662f9e8c53f05ff241f6249c1142cdb74f874ade9ce8205425ce45746bad5aaa03', '\x33343737326366332d306165382d383964352d386562332d323863323232303763366565', 1, 1, '\x6f72672e6578616d706c652e6d657373656e676572', '\x', '\x', '\x', NULL, NULL, 1, NULL, 0, 0, NULL);
INSERT INTO public.push OVERRIDING SYSTEM VALUE VALUES (3, 1, 11, 0, '\x696f73', 0, 1795751886801979501, 2, NULL, NULL, NULL, NULL, 0, '\x48c327d652e8e5b0e6f6efff591e0eac556adeced20def50ac207b842718fdf2', '\x92d8caaff80d1f47a2e9de3611c619a9b95cee9668cab822e9dabda3720246662f9e8c53f05ff241f6249c1142cdb74f874ade9ce8205425ce45746bad5aaa03', '\x33343737326366332d306165382d383964352d386562332d323863323232303763366565', 1, 1, '\x6f72672e6578616d706c652e6d657373656e676572', '\x', '\x', '\x', NULL, '\x01276ad53de1585e2d36badfb1a9ce584c6adfd244f18b677661c40bc0785fa92cb7e4228a341a048321f6200be2e4fccde4b11e9ccb26103055a7280216f131b63fed34c7e3cb082fd078237f4d216cd9a45346386d9f6cc1cc790545edc77ce2668863a8ae95e796fc1044efbf19f23049f9e42605642a8bb64921eaf96423d71175483737ff8ef17d027944179e7d4600293dd17579fe8e92f9d80eea179b30cf01320ac1602d6b60c9c0c7', 1, NULL, 0, 0, NULL);
INSERT INTO public.push OVERRIDING SYSTEM VALUE VALUES (4, 1, 13, 0, '\x696f73', 1, 1795751887079870719, 1, NULL, NULL, NULL, NULL, 0, '\x4277095b02197dc9dafca0607524c79c06289343372dfd21cefa4d08ce7265e6', '\x16eea6b59d5a097981345cc2b1b8eb52bee39c27f4fa5ec7c9bfae5c26922abf01d4be19125ac621099b32cec1855f320474665598e6b008fe5d2eec0d2eb2ef', '\x35346334376530332d666239352d386530372d623138662d333734373034303264323435', 1, 1, '\x6f72672e6578616d706c652e6d657373656e676572', '\x', '\x', '\x', NULL, '\x017c6d436c965ef43021d7f19635a8b3987440246f000e0652f970bb4d23d29530b109534cf480a33d6d9bc613e71121b17ca95aef7aaf36ba8ed0bc91eed6e227dcad0f7a784a022177c0b923b9ce40f98cfc8ddf16b83312928c76590cd238acdf24d36bbc5e2c3f6c378c44c2e4e9b3babd1c6fc9d59973a8ad3cd3563238337b2dd9bdf804acc14feab3163e1241803fad241b7c2e07bf6a3d811156177d60ac7c1afa35fe13688eba5eee', 2, NULL, 0, 0, NULL);
INSERT INTO public.push OVERRIDING SYSTEM VALUE VALUES (5, 1, 0, 0, '\x696f73', 1, 1795751887159228672, 1, NULL, NULL, NULL, NULL, 0, '\xa995148d977a7f517bd4a671bbf09ea011b0fb92f5642d495d02529989798f8f', '\xfce1d2d4ddcab83f430af53063416c80761f479b3fdd2ee8207018e520a9d7ef9949753540a66fe066ac861caa244ecbecee3e3712ca55053e32ddd08a21b375', '\x', 1, 0, '\x6f72672e6578616d706c652e74616c6b', '\x', '\x', '\x', NULL, '\x0176c5089aaf9e7b0bebec3d0034aa7fba6d27de12a3ed38a3a3a927641c0f33d4008a144e461bf86a504edd10233eb6d635c22002abef0b978fa0ca7d82bc49e393ec40b07a690916bca79e6b58d6ea8691e95205d7f2a735d089154309f2778e8df717413e20035022da9b7f35f74abf2fad666509407b72586f168ec4329dbddb20408b3ab5f9097fae00c034d7220231593a2bdb7310e67a522eed7ef80d8313951de71c263bcf6c79e88c96dba8557209e3f38a4d4e47fdfc660c34d099ce3a37fd7be4773826672e23cdd5b6670152f189c26eba5d25dc110a1abaf0b121ba695b445c923e9bc199b567e98037a4187a9673bd5a323e018fe9196064fc93ddcafc13b3236705da67234759db077336fe408cc9ae25de70decb12883c5ff5151d15d782515a356269f4f4dfdcd286b5bcb1d6412a204759cc738b7fd2d09c5269096603e15a52a44718785e004a60027313ecb0ea87110670d632147908d888035c2bd63daa81edb38a4b02a10ab8d40d33611d532eeee03018cf05b45002d4a33a375b596670e9170442acd18a77835e569de78689c34c549525bce0878842db7c26596b6ce370a82674b42bbedf00feceb3e10de61bc1b50196c692d0aa69222af11da2c04d1b04a6f31e2d9767b6bdda0c1624f090ffa472142f63eb197c9e982b6673a424a8f23899707de240718894eba5f0dea94387c579b1d2f0d31546daca3e6e3d6bfa116cb4037981b51f279a53627d317604f364aa56294688a36939117da437df871d78c7dd1cb380242f49d63d96f99135b9ee5ec04985df45331eab9753aff297d017af9d03e1570b9d4f0c00dc730fd1fb3b3caebe72e386bd5eba929ea921c54085afeff172bf180aa1da9d9aeaab959c73665b9546d74ba9a4783476b1edd5c4bd2dac83d50eaa53dc91a52303076994a4a22fc616ba90010f32290b72a39a6a9ab6b661bcca4a44d28177bbd5c5083e8ea9274e14955c9f1a498bddcb73594ad190a6df4bb46fde87fc19860cc95bd34a51ac39045b652a1fb0a1678a430d77ee52b3cd56f10b956c3687390e6482124194bc2163b96ce329ad1078bfe1588321abeee90cc5c51b12155287a8ca53cc26ae25a0b7030970bf5d1113829630cd6e6b0ae7b0cbab72871106546574e74d1c27204704126ca2ad509a93862125bf0b148e683f1c22bcfdcfe05f893b9021ea486016bea0fa0a36935383db537c32ce6bc5f20bf37a017fcc13020a33bfbd84916fbdab83da94fc25434d756cc10d1e3159f9184a2018520bfb6bcdfad08ebcb9afe87d519c91b0349cf291d260bb1e0df502c979568bc19ba815d29a21bd5994ada5456e14c98ce3b2484a0296e8f155bd5cb7f5c842010814e6ccadf734f9543385691548a90c516d9e50abe160b670b0bb1a06f0e053fdb1dee96f261a40ccdee921af3eaeea50f0e054df8d258e8e3705245532fbceab0ffc5848de884fc507d6c18c8b1fcef87bfcc8fa52e297a046b91ab5e37b90e2c0079e37a4455a087f0ed9757cf7e20a07722994fe40b0a31351a8d12054cab73edc893b58b97408e40eb259747685e85f3e6d2c387d55015d8784836dc7d90744046f49d8bfbd0b1a53f64bc008e4d43583fe4b13df7ebcd63dac2593d16b0b2f789bcba46d6268c0a044763aa6b7d6704a868f54a5bb1844aca36438c8bdd49013085d24e22b52ab1b', NULL, NULL, 0, 0, NULL);
INSERT INTO public.push OVERRIDING SYSTEM VALUE VALUES (2, 1, 9, 0, '\x696f73', 0, 1795751886610352838, 0, 1795751888967006730, NULL, NULL, NULL, 0, '\xc87402ebc4cb4dce28914cf8b0516fe63c2bfce4142a14146cc50298845bec75', '\x92d8caaff80d1f47a2e9de3611c619a9b95cee9668cab822e9dabda3720246662f9e8c53f05ff241f6249c1142cdb74f874ade9ce8205425ce45746bad5aaa03', '\x33343737326366332d306165382d383964352d386562332d323863323232303763366565', 1, 1, '\x6f72672e6578616d706c652e6d657373656e676572', '\x', '\x', '\x', NULL, '\x0149159ddfd3e86dc70dd405740da1c1c18db9efcaf4cf4e202e5d9804929b7c5a7f04ab318f41ba20c13b29a2ecd5747ca34bffe3f7acb0335b5f2b13900b1ee431cb13711e6982658c83c3496e08aca2616209d4124b295e2551215aa89935769a28db891b70911b434fb4d6a3e7a8c2d8bfd5c3dffe24933badb080e14218ff6775c0c6a146e555485b7643a3351168d3ac23597ea53c203a5d8e1f6d389a79516aa37cf0e81df4c7e0ad1d', 1, NULL, 0, 0, NULL);
INSERT INTO public.registration OVERRIDING SYSTEM VALUE VALUES (2, '\x16eea6b59d5a097981345cc2b1b8eb52bee39c27f4fa5ec7c9bfae5c26922abf01d4be19125ac621099b32cec1855f320474665598e6b008fe5d2eec0d2eb2ef', '\x35346334376530332d666239352d386530372d623138662d333734373034303264323435', true, true, -9223370241102892405, 1795751883436274702, '\xc34fb8da7fe4718bc021f1ad9d803142d8500234416925407bc2c6b67054f4a4', 1, true, false, false, NULL, NULL, '\x6f72672e6578616d706c652e6d657373656e676572', '\x7fcf1659fffa629f4f773efe17281bbab0581f743351f9206bc880f51e462678439fb1cd9ac46c9d1715e707c9be91bbeca2d2f3eac37811686d20dc89543ff600', NULL, NULL, '\x01d8bba7fcdd873d350a3153c50354edf03319cf3de53c2f43ade558c8da810f70937c82fe896b9eb13c136095cc6e6420f1a53ea2f1589ecc912e3e71aa624ec0dbb94d2842890a519490967188cec59c44380cafea1f7f9281fdcbfc85aab5809243313233911dfb30eaa3688118db789a464cdb0882ce7cb23eb2c26336d36ddaa2c0f60b9dd9d3', '\x9dfd382d97bea878308849920e5d7d44', NULL, NULL, NULL, NULL, NULL, 1036942791, 2996409348, NULL, NULL);
INSERT INTO public.registration OVERRIDING SYSTEM VALUE VALUES (4, '\xf2c4764bb059c0229b08fc1722bbcd540363842ffb131062dbbbb152252c6d5e4316e69e515dc8b19e949b44bc44f09ee65081c92cca0c687c9acac33159d5a0', '\x62303061623634632d613038662d386431312d393233342d663663366264636536336431', true, true, -9223370241102891869, 1795751883976877892, '\xd83a8a67e6703081a30e6adcb3219c84777766444091361c56e3cfd51f1929f1', 1, true, true, false, NULL, NULL, '\x6f72672e6578616d706c652e6d657373656e676572', '\x9a647c6c2e52ec9714c1c7942ab88d5e28b5a261a148532c1477d167879a07410f5d09ed163d1ae8d3ec17ca54ddcfaa2ada7408483efa874a68843e0455e77b00', NULL, NULL, '\x01648882a258d284f785e0579f6ea4ab801b99c9870c176b0ffaa915d18aa0644c8ca81b898c97422af181dac2037dc83d5a5da91fda2ff93663523ec33613a2d65ebcbea022b0886dd80acf3ae19a44fd32239c3910b1cdd6ce50c0d23861538a1edaaf254c03904b326f45d76271bfdc197e6e48561efb22d1c67d575ab43737828de00f6cb060f4', '\x74e24d54ba8f753765a2c0ac9154dbd4', '\x01b28e7c2ccfe2f89caa765c54aae9abb7ad9edaac69c7be517b70c37833121702301ed2e576b20acbfce99f5511f9c66e67c0ed1743bf757e5a0e4318e190c16ab7b45ea3d7dcbe665c7d40d0c4b6bb3145a7b860dd010e89836bccc06a3525e2bdbc', '\x01d427e059848a502496c4bcb5c900a06bb917044779b1830f7cf7152ba273b623438acb807b4f8d5468b4fb82e17b406b3be8add1493a6133f086f2b350fb30a64aeb068df829762f786ab42d3b86896b6ff13856310064b59545b6915ff7466e7f9bf97bef06827ae41a4705e74f1373f10ad14829bebb566cd6059cdf2997fd9d6d6cd773af6561f2bacee2e4c0cace53b25b6523d16805fa39288d1cf2a118231b6d47', NULL, '\x866ae8fff4884d94', '\x495ac02cda616800', 1749863077, 2092402681, NULL, NULL);
INSERT INTO public.registration OVERRIDING SYSTEM VALUE VALUES (1, '\x92d8caaff80d1f47a2e9de3611c619a9b95cee9668cab822e9dabda3720246662f9e8c53f05ff241f6249c1142cdb74f874ade9ce8205425ce45746bad5aaa03', '\x33343737326366332d306165382d383964352d386562332d323863323232303763366565', true, true, -9223370241102892797, 1795751883056986554, '\x34bf2dc513bed4e253d15193c8ca7c1911ac2a5581b75709babe40cc29e64813', 1, true, false, false, NULL, NULL, '\x6f72672e6578616d706c652e6d657373656e676572', '\x720643b4aa548ea185b8de4c0c1eb6a517686e61d76a09e54fe48cd8c100ff406dc6b2eafde81efeea7c3067882ff5632657f1eedfc5e8a7247d7cdb62e7f7cb00', NULL, NULL, '\x014b80d3ede48e95a121f5647f6e64731b18857813bc84d400a7a6c2b32ca8019b0e4893cbc558a7087ac785d7a964f9b3c168f6a1de5d0818254843c94a464d1d5d79eede54eb55bddd62317e45c41b5ab60ccef1f2ea2db7c976d9cca840b4cc3c187a26f171f8d47fd32db326e8a14df65e97abb3e8b65caa3510d2436948fd906510caeb5a830d', '\xfe2704ac21752773d1ef3147c6ef9b7c', NULL, '\x010c87b7f0d3573ed15adef9dc0d61020b5d5241b8ef1a3e4fc3d0fab1d22dfcb48351a58a652edac0a320e7806fa5b7036cf81d98e507f4f660dfaec17cb8e52b2fe1f5f3f9ffe40d288eddbf81ca92d72b611af3b2e15e5582ba6b4fc865e2592bc94d33b6f3ae9704faaa961f0803b20d846ca3c713e38609b486e243af143742c923f90b881a0a7ee7fff626b80b120a468aa29f7600e7155faed396392e1baa0ed1d6', '\xbc3eaf97c5214d41', '\x866ae8fff4884d94', NULL, 3023545814, 2118646625, 1795751884243756966, 1795751884243756966);
INSERT INTO public.registration OVERRIDING SYSTEM VALUE VALUES (3, '\x2c08ff7f227580224667b47169c8124204126819ce19028815dd5ac5544d20d88ad1b8af68ad71c879d7251e1dfd8c430c162249f9c238e4b3b71c8f94753907', '\x63356238373132622d353338312d383439312d623738612d333661326635343762313166', false, true, -9223370241102891393, 1795751884448170296, '\x422214b6e9cefeb08a81a60baf66bf7a63dc2290510e9aa87df2e91b91414778', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.route VALUES (2, '\x', '\x616e64726f6964');
INSERT INTO public.route VALUES (1, '\x', '\x696f73');
INSERT INTO public.sealing VALUES (1, 1, 10, '\x');
INSERT INTO public.sealing_key VALUES (1, '\x0148690f9b82a2dda7ae5cc5d732a801012cf9f9994d5a3233279c2d91467475c487fde22abc2b271373ed1fa89ac5397a1a924c26966653a3fde9519b');
INSERT INTO public.server OVERRIDING SYSTEM VALUE VALUES (1, '\x766d', '\x302e322e30', '2026-11-27 03:58:23.702946+00', true, true, '\x63333331343335366330316663333065');
INSERT INTO public.topic_key VALUES ('\x92d8caaff80d1f47a2e9de3611c619a9b95cee9668cab822e9dabda3720246662f9e8c53f05ff241f6249c1142cdb74f874ade9ce8205425ce45746bad5aaa03', false, '\xe8954c17ec21c082db94885a56df98c5fb4cd6f5981508fba1baf436212a8cec');
INSERT INTO public.topic_key VALUES ('\x16eea6b59d5a097981345cc2b1b8eb52bee39c27f4fa5ec7c9bfae5c26922abf01d4be19125ac621099b32cec1855f320474665598e6b008fe5d2eec0d2eb2ef', false, '\xe7f950f097b348dee957a036c61bfbc2685e7ae2c889d0c47a36d4963895f857');
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
