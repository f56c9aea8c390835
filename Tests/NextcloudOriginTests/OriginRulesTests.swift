import Bytes
import Envelope
import Foundation
import HTTPClient
import ServerCrypto
import StatusCrypto
import Store
import TestServers
import TestSupport
import Testing

@testable import HTTPGateways

/// The origin's rules as values, compared with the output of PHP and of the reference's own code (GATEWAY_PROTOCOLS.md §1, §4.5).
@Suite(.safetyNet)
struct OriginRulesTests {
    // MARK: Signatures

    @Test(arguments: GatewayVectors.all.sessions.keys.sorted())
    func `identifier and signature are the reference's`(name: String) throws {
        let session = GatewayVectors.session(name)
        let at = try #require(session.cloudId.firstIndex(of: "@"))
        let host = session.cloudId[session.cloudId.index(after: at)...]
        let schemes = host.hasPrefix("http://") ? [""] : ["https://", ""]
        for server in schemes.flatMap({ ["\($0)\(host)", "\($0)\(host)/", "\($0)\(host)/index.php"] }) {
            let identifier = OriginIdentifier(user: String(session.cloudId[..<at]), server: server, tokenID: Int64(session.tokenId))
            #expect(identifier.text == session.deviceIdentifier)
            #expect(identifier.signature(by: GatewayVectors.privateKey(session.userKey)) == base64(session.signature.bytes))
        }
    }

    @Test(arguments: 0..<GatewayVectors.all.truncation.count)
    func `a long subject is shortened as in the reference`(row: Int) {
        let vector = GatewayVectors.all.truncation[row]
        let content = NoticeContent(
            nid: vector.nid, app: vector.app, subject: vector.parsedSubject, type: vector.type, id: vector.id)
        #expect(content.json(upTo: vector.maxLength) == vector.json)
    }

    @Test func `a subject without remaining space becomes an ellipsis, without a hang`() {
        let id = String(repeating: "i", count: 300)
        let content = NoticeContent(nid: 1, app: "spreed", subject: "Hello", type: "chat", id: id)
        #expect(content.json == #"{"nid":1,"app":"spreed","subject":"\u2026","type":"chat","id":"\#(id)"}"#)
    }

    @Test func `strings are escaped as in PHP`() {
        #expect(PHPJSON.string("a/b\"\\\u{8}\u{C}\n\r\t\u{1}\u{7F}é🎉") == #""a\/b\"\\\b\f\n\r\t\u0001\#u{7F}\u00e9\ud83c\udf89""#)
    }

    @Test(arguments: GatewayVectors.all.notifications.keys.sorted())
    func `an entry is written as PHP writes it`(name: String) throws {
        let entry = GatewayVectors.notification(name).entry
        let waiting = WaitingOriginPush(
            id: 1, device: 1, deviceIdentifier: entry.deviceIdentifier, pushTokenHash: entry.pushTokenHash,
            push: OriginPush(
                tokenID: 1, subject: base64(entry.subject.bytes), signature: base64(entry.signature.bytes),
                priority: try #require(.init(rawValue: entry.priority)), kind: try #require(.init(rawValue: entry.type)),
                expiresAt: TestNode.start))
        #expect(waiting.entry == GatewayVectors.notification(name).entry_json_string)
    }

    @Test(arguments: GatewayVectors.all.notifications.keys.sorted())
    func `a device reads what the reference would have sent it`(name: String) throws {
        let vector = GatewayVectors.notification(name)
        let session = GatewayVectors.session(vector.session)
        let device = Self.device(vector.session)
        let padding = try #require(RSAPadding(rawValue: vector.padding.lowercased()))
        let payload = try #require(try Self.notice(vector, device.appType).payloads(for: device.appType).first)
        let push = try #require(
            OriginPush(
                payload, to: device, signedBy: GatewayVectors.privateKey(session.userKey), padding: padding, at: TestNode.start))
        let block = try #require(Data(base64Encoded: push.subject).map { [UInt8]($0) })
        let content = try #require(GatewayVectors.privateKey(session.deviceKey).decrypt(block, padding: padding))
        #expect(String(decoding: content, as: UTF8.self) == vector.plaintext_json)
        let signature = try #require(Data(base64Encoded: push.signature).map { [UInt8]($0) })
        #expect(GatewayVectors.publicKey(session.userKey).isValidSignature(signature, of: block))
        #expect(push.priority.rawValue == vector.entry.priority && push.kind.rawValue == vector.entry.type)
    }

    /// Returns the backend's report for a vector.
    private static func notice(_ vector: GatewayVectors.Notification, _ appType: AppType) throws -> Notice {
        let fields = try #require(JSONFields(Array(vector.plaintext_json.utf8)))
        let app = appType == .talk ? "spreed" : "files"
        if fields["delete-all"] != nil { return .deleteAll }
        if fields["nids"] != nil { return .delete(Array(1337...1347), app: app) }
        guard case .number(let text) = fields["nid"], let nid = Int64(text) else { throw POSIXError(.EINVAL) }
        if fields["delete"] != nil { return .delete([nid], app: app) }
        return .content(
            NoticeContent(
                nid: nid, app: fields.string("app") ?? "", subject: fields.string("subject") ?? "", type: fields.string("type") ?? "",
                id: fields.string("id") ?? ""))
    }

    static func device(_ name: String, tokenID: Int64? = nil, lastSeen: Timestamp? = nil, createdAt: Timestamp = TestNode.start)
        -> OriginDevice
    {
        let session = GatewayVectors.session(name)
        return OriginDevice(
            user: "alice", tokenID: tokenID ?? Int64(session.tokenId), identifier: session.deviceIdentifier,
            publicKey: GatewayVectors.publicKey(session.deviceKey), pushTokenHash: GatewayVectors.token(session.token).pushTokenHash,
            proxy: "https://push.example.com", appType: session.apptype.flatMap(AppType.init(rawValue:)) ?? .unknown, lastSeen: lastSeen,
            createdAt: createdAt)
    }

    @Test func `a notification that is too long for a block causes no push, and PKCS1 has more space than OAEP`() {
        let key = GatewayVectors.privateKey("user_alice")
        func fits(_ byteCount: Int, _ padding: RSAPadding) -> Bool {
            let payload = Payload.silent(String(repeating: "x", count: byteCount))
            return OriginPush(payload, to: Self.device("alice_talk_ios"), signedBy: key, padding: padding, at: TestNode.start) != nil
        }
        #expect(fits(214, .oaep) && !fits(215, .oaep) && fits(245, .pkcs1) && !fits(246, .pkcs1))
    }

    @Test func `a call expires after a minute, another push after a day`() throws {
        let device = Self.device("alice_talk_ios")
        func lifetime(_ kind: Payload.Kind) throws -> Timestamp {
            let payload = Payload(json: "{}", priority: .high, kind: kind)
            let key = GatewayVectors.privateKey("user_alice")
            return try #require(OriginPush(payload, to: device, signedBy: key, padding: .oaep, at: TestNode.start)).expiresAt
        }
        #expect(try lifetime(.voip) == TestNode.start.advanced(by: .seconds(60)))
        #expect(try lifetime(.alert) == TestNode.start.advanced(by: .seconds(86_400)))
    }

    // MARK: Choice of devices

    @Test func `eleven deletions are two pushes for Talk, and eleven for other apps`() {
        let notice = Notice.delete(Array(1...11), app: "spreed")
        let talk = notice.payloads(for: .talk)
        #expect(talk.map(\.json) == [#"{"nids":[1,2,3,4,5,6,7,8,9,10],"delete-multiple":true}"#, #"{"nid":11,"delete":true}"#])
        for appType in [AppType.nextcloud, .unknown] {
            #expect(notice.payloads(for: appType) == (1...11).map { .silent(#"{"nid":\#($0),"delete":true}"#) })
        }
    }

    @Test(
        arguments: [
            ("spreed", ["alice_talk_ios"]), ("talk", ["alice_talk_ios"]), ("admin_notification_talk", ["alice_talk_ios"]),
            ("files", ["alice_files_android", "bob_subpath"]), (nil, ["alice_talk_ios", "alice_files_android", "bob_subpath"]),
        ] as [(String?, [String])])
    func `Talk's apps get the notifications of Talk and no others`(app: String?, chosen: [String]) {
        let notice = app.map { Notice.delete([1], app: $0) } ?? .deleteAll
        let devices = ["alice_talk_ios", "alice_files_android", "bob_subpath"].map { Self.device($0) }
        #expect(notice.choose(from: devices) == chosen.map { Self.device($0) })
        // Without Talk's apps, the other apps get the notification.
        #expect(notice.choose(from: Array(devices[1...])) == Array(devices[1...]))
    }

    @Test(arguments: [
        ("spreed", true), ("talk", true), ("admin_notification_talk", true), ("twofactor_nextcloud_notification", true),
        ("phonetrack", true), ("files", false), ("", false), ("spreed2", false),
    ])
    func `Talk, the second factor and PhoneTrack are urgent, and no other app`(app: String, isUrgent: Bool) {
        let content = NoticeContent(nid: 1, app: app, subject: "s", type: "t", id: "i")
        #expect(Notice.content(content).payloads(for: .nextcloud).map(\.priority) == [isUrgent ? .high : .normal])
    }

    @Test func `only recently seen devices are reachable, and at most the 20 newest`() {
        let limit = OriginDevice.maximumSilence
        let now = TestNode.start.advanced(by: limit)
        let recent = Self.device("alice_files_ios", tokenID: 1, lastSeen: TestNode.start)
        let silent = Self.device("alice_files_ios", tokenID: 2, lastSeen: TestNode.start.advanced(by: .nanoseconds(-1)))
        #expect(OriginDevice.reachable([recent, silent], at: now) == [recent])
        let many = (1...21).map {
            Self.device("alice_files_ios", tokenID: Int64($0), createdAt: TestNode.start.advanced(by: .seconds($0)))
        }
        #expect(OriginDevice.reachable(many, at: now) == many.dropFirst().reversed())
    }

    @Test(
        arguments: [
            ("Mozilla/5.0 (iOS) Nextcloud-Talk v23.0.2 (Strict VoIP)", .talk), ("Mozilla/5.0 (Android) Nextcloud-Talk v21", .talk),
            ("Mozilla/5.0 (Android) Nextcloud-android/34.0.0", .nextcloud), ("Mozilla/5.0 (Android) ownCloud-android/2", .nextcloud),
            ("Mozilla/5.0 (iOS) Nextcloud-iOS/34.0.0", .nextcloud), ("Mozilla/5.0 (iOS) ownCloud-iOS/3", .nextcloud),
            ("Mozilla/5.0 (Android) Nextcloud-iOS/34.0.0", .unknown), (" Mozilla/5.0 (iOS) Nextcloud-Talk v23", .unknown),
            ("mozilla/5.0 (iOS) Nextcloud-Talk v23", .unknown), ("curl/8", .unknown), ("", .unknown),
        ] as [(String, AppType)])
    func `the user agent identifies the app`(userAgent: String, appType: AppType) {
        #expect(AppType(userAgent: userAgent) == appType)
    }

    // MARK: Input of proxies and backends

    @Test(
        arguments: [
            ("https://push.example.com", "https://push.example.com"), ("https://push.example.com//", "https://push.example.com"),
            ("https://Push.Example.com:8443/a/b/", "https://Push.Example.com:8443/a/b"), ("https://1.1.1.1/", "https://1.1.1.1"),
            ("https://[2606:4700::1111]/", "https://[2606:4700::1111]"), ("https://a.b." + String(repeating: "c", count: 245), nil),
            ("https://push.example.com:65535/", "https://push.example.com:65535"),
            ("https://push-1.example.com/", "https://push-1.example.com"),
            ("http://push.example.com/", nil), ("HTTPS://push.example.com/", nil), ("ftp://push.example.com/", nil),
            ("push.example.com", nil),
            ("https://", nil), ("https:///x", nil), ("https://user@push.example.com/", nil), ("https://push.example.com/?x", nil),
            ("https://push.example.com/#x", nil), ("https://push example.com/", nil), ("https://push.example.com:99999/", nil),
            ("https://püsh.example.com/", nil), ("https://push%2eexample.com/", nil), ("https://push.example.com\n/", nil),
            ("https://push_1.example.com/", nil), ("https://.example.com/", nil), ("https://a..b/", nil), ("", nil),
        ] as [(String, String?)])
    func `a proxy has an https URL`(text: String, proxy: String?) {
        #expect(ProxyURL(text, allowsLocal: false)?.text == proxy)
    }

    @Test func `the URL of a proxy has at most 256 bytes`() {
        let longest = "https://push.example.com/" + String(repeating: "c", count: 231)
        #expect(ProxyURL(longest, allowsLocal: false)?.text == longest)
        #expect(ProxyURL(longest + "c", allowsLocal: false) == nil)
    }

    @Test(arguments: [
        "https://localhost/x", "http://localhost/", "http://localhost:8070/", "http://push.internal/", "https://push.local", "https://push",
        "https://127.0.0.1/", "https://10.0.0.1", "https://[::1]/", "https://127.1/", "https://0x7f.1/", "https://1.2.3.0x4/",
        "https://push.localhost/", "https://PUSH.LOCAL/", "https://localhost./", "https://push.local./", "https://[::ffff:10.0.0.1]/",
    ])
    func `a local proxy needs permission`(text: String) {
        #expect(ProxyURL(text, allowsLocal: false) == nil)
        #expect(ProxyURL(text, allowsLocal: true) != nil)
    }

    @Test(arguments: ["http://localhost", "http://push.example.com/", "http://10.0.0.1/", "http://PUSH.LOCAL/", "http://push/"])
    func `plain HTTP is limited to certain local names, and needs a slash`(text: String) {
        #expect(ProxyURL(text, allowsLocal: true) == nil)
    }

    @Test(
        arguments: [
            (200, #"{"unknown":["a","b","a"],"failed":2}"#, .taken(unknown: ["a", "b"])),
            (400, #"{"failed":"x","unknown":null,"other":[{}]}"#, .taken(unknown: [])),
            (429, #"{"unknown":[],"failed":0}"#, .taken(unknown: [])),
            (200, #"{"unknown":[]}"#, .refused(status: 200)), (200, #"{"failed":0}"#, .refused(status: 200)),
            (200, "", .refused(status: 200)),
            (200, #"{"unknown":[1],"failed":0}"#, .refused(status: 200)), (403, "x", .refused(status: 403)),
            (429, "Too Many Requests", .refused(status: 429)), (500, #"{"unknown":["a"],"failed":1}"#, .away), (503, "", .away),
        ] as [(Int, String, ProxyResponse)])
    func `each response of a proxy is final, except 5xx and a missing response`(status: Int, body: String, answer: ProxyResponse) {
        #expect(ProxyResponse(HTTPResponse(status: status, body: Array(body.utf8))) == answer)
        #expect(ProxyResponse(nil) == .away)
    }

    @Test(
        arguments: [
            (#"{"uid":"alice","tokenId":7}"#, Session(user: "alice", tokenID: 7)),
            (#"{"uid":"alice","tokenId":null}"#, Session(user: "alice", tokenID: nil)),
            (#"{"uid":"a","tokenId":7,"lastSeen":2,"x":{}}"#, Session(user: "a", tokenID: 7, lastSeen: .init(nanoseconds: 2_000_000_000))),
            (#"{"uid":"a","tokenId":7,"lastSeen":null}"#, Session(user: "a", tokenID: 7)), (#"{"uid":"a"}"#, nil),
            (#"{"uid":"","tokenId":7}"#, nil),
            (#"{"uid":1,"tokenId":7}"#, nil), (#"{"uid":"a","tokenId":"7"}"#, nil), (#"{"uid":"a","tokenId":7.5}"#, nil),
            (#"{"uid":"a","tokenId":7,"lastSeen":"x"}"#, nil), ("[]", nil), ("", nil),
        ] as [(String, Session?)])
    func `a response of the backend is a complete session, or none`(body: String, session: Session?) {
        #expect(HTTPAuthenticationBackend.session(in: Array(body.utf8)) == session)
    }

    @Test(arguments: [
        "", "{}", "[]", #"{"uid":"a"}"#, #"{"delete":"all"}"#, #"{"uid":"","delete":"all"}"#, #"{"uid":"a","delete":"none"}"#,
        #"{"uid":"a","delete":[1]}"#, #"{"uid":"a","delete":[],"app":"x"}"#, #"{"uid":"a","delete":["1"],"app":"x"}"#,
        #"{"uid":"a","delete":"all","revoked":[1]}"#, #"{"uid":"a","revoked":7}"#, #"{"uid":1,"delete":"all"}"#,
        #"{"uid":"a","notification":{"nid":"1","app":"x","subject":"s","type":"t","id":"i"}}"#,
        #"{"uid":"a","notification":{"nid":1,"app":"","subject":"s","type":"t","id":"i"}}"#,
        #"{"uid":"a","notification":{"nid":1,"app":"x","type":"t","id":"i"}}"#, #"{"uid":"a","notification":[]}"#,
        #"{"uid":"a","app":"x","delete":[\#((1...201).map(String.init).joined(separator: ","))]}"#,
    ])
    func `an ambiguous or malformed notice is rejected`(body: String) {
        #expect(NoticeRequest(Array(body.utf8)) == nil)
    }

    /// Each differs from a rejected one in one thing.
    @Test(arguments: [
        #"{"uid":"a","delete":"all"}"#, #"{"uid":"a","delete":[1],"app":"x"}"#, #"{"uid":"a","revoked":[1]}"#,
        #"{"uid":"a","notification":{"nid":1,"app":"x","subject":"s","type":"t","id":"i"}}"#,
        #"{"uid":"a","app":"x","delete":[\#((1...200).map(String.init).joined(separator: ","))]}"#,
    ])
    func `an unambiguous notice is accepted`(body: String) {
        #expect(NoticeRequest(Array(body.utf8)) != nil)
    }

    // MARK: Registering

    @Test func `a registration is new, changed, unchanged or under another key, which only v3 rejects`() {
        let device = Self.device("alice_talk_ios")
        let v3 = OriginRegistration.Version.v3(pushServer: ProxyURL(trusted: "https://push.example.com"))
        let later = TestNode.start.advanced(by: .seconds(5))
        for version in [OriginRegistration.Version.v2, v3] {
            let other = Self.device("alice_talk_ios", tokenID: 1)
            let (new, isNew) = device.register(among: [other, Self.device("alice_files_ios")], version)
            #expect(isNew == .changed && new == OriginChange(put: device, removed: [1]))
            var again = device
            (again.createdAt, again.lastSeen) = (later, later)
            let (same, isSame) = again.register(among: [device], version)
            again.createdAt = device.createdAt
            #expect(isSame == .unchanged && same == OriginChange(put: again))
            var token = device
            token.pushTokenHash = GatewayVectors.token("fcm").pushTokenHash
            let (changed, isChanged) = token.register(among: [again], version)
            #expect(isChanged == .changed && changed.put?.lastSeen == later)
        }
        var rekeyed = device
        rekeyed.publicKey = GatewayVectors.publicKey("device_android")
        #expect(rekeyed.register(among: [device], .v2) == (OriginChange(put: rekeyed), .changed))
        #expect(rekeyed.register(among: [device], v3) == (OriginChange(), .otherKey))
    }
}
