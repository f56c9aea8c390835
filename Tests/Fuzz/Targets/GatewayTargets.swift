import Bytes
import ServerCrypto
import StatusCrypto

#if DEBUG || FUZZER
    import HTTPClient
    import Store

    @testable import HTTPGateways
    @testable import StatusCrypto

    extension FuzzTarget {
        /// The requests of apps, their servers and their accounts' servers to the gateways.
        static let gateways: [FuzzTarget] = [
            FuzzTarget(name: "form", vectors: gatewayVectors) { input throws(Violation) in
                let fields = try readBounded(input, entryByteCount: 64) { FormFields.read(input) }
                guard let fields else { return }
                try expect(fields.count <= FormFields.maximumCount, "the number of fields is bounded")
                let written = fields.map { FormFields.encode($0.name) + "=" + FormFields.encode($0.value) }.joined(separator: "&")
                let again = FormFields.read(Array(written.utf8)) ?? []
                try expect(again.elementsEqual(fields) { $0 == $1 }, "fields are read as they were written")
            },
            // The first byte chooses the type of the body.
            FuzzTarget(name: "request-fields", vectors: gatewayVectors) { input throws(Violation) in
                let types = [nil, "application/json", "application/x-www-form-urlencoded", "text/plain"]
                let body = Array(input.dropFirst())
                _ = try readBounded(input, entryByteCount: 128) {
                    try? RequestFields(query: "", contentType: types[Int(input.first ?? 0) % 4], body: body, names: DeviceRequest.names)
                }
            },
            FuzzTarget(name: "notification-batch", vectors: gatewayVectors) { input throws(Violation) in
                guard let texts = try readBounded(input, entryByteCount: 96, { try? BatchBody.read(input) }) else { return }
                try expect((1...BatchBody.maximumEntryCount).contains(texts.count), "a batch has 1 to the maximum of entries")
                for text in texts {
                    guard let entry = BatchEntry(text) else { continue }
                    try expect(DeviceIdentifier(entry.identifierText) == entry.identifier, "an identifier is decoded from its own text")
                }
            },
            FuzzTarget(name: "notification", vectors: gatewayVectors) { input throws(Violation) in
                let text = String(decoding: input, as: UTF8.self)
                _ = try readBounded(input, entryByteCount: 64) { BatchEntry(text) }
                if let identifier = DeviceIdentifier(text) {
                    try expect(DeviceIdentifier(identifier.text) == identifier, "an identifier reads as it was written")
                }
            },
            FuzzTarget(
                name: "cloud-id", vectors: gatewayVectors,
                samples: ["alice@http://[::1]:8080/cloud/index.php", "a@b@cloud.example.org/x", "bob@https://h:1"]
            ) { input throws(Violation) in
                let text = String(decoding: input, as: UTF8.self)
                guard let account = try readBounded(input, { CloudID(text) }) else { return }
                let url = account.keyURL
                try expect(url.utf8.allSatisfy { (0x21...0x7E).contains($0) }, "an address is printable ASCII")
                let authority = url.dropFirst(account.isPlainHTTP ? 7 : 8).prefix { $0 != "/" }
                try expect(!authority.contains { "@?#\\".contains($0) }, "the authority has only a host and a port")
                try expect(authority.contains(account.host), "the host is the account's")
                try expect(!url.dropFirst(8).contains("/../"), "the path does not climb")
            },
            FuzzTarget(name: "pem", vectors: gatewayVectors) { input throws(Violation) in
                let text = String(decoding: input, as: UTF8.self)
                guard let key = try readBounded(input, { RSAPublicKey(pem: text) }) else { return }
                try expect(RSAPublicKey(pem: key.pem) == key, "a key reads as it was written")
                try expect(!key.isValidSignature([], of: []), "an empty signature is invalid")
            },
            FuzzTarget(name: "identity-proof", vectors: gatewayVectors) { input throws(Violation) in
                _ = try readBounded(input, entryByteCount: 128) { HTTPIdentityProof.key(in: input) }
            },
            FuzzTarget(name: "push-token", vectors: gatewayVectors) { input throws(Violation) in
                let text = String(decoding: input, as: UTF8.self)
                switch try readBounded(input, { PushToken(text) }) {
                case .apns(let normal, let voip):
                    for token in [normal, voip ?? ""] {
                        try expect(
                            token.text.utf8.allSatisfy { "0123456789abcdef".utf8.contains($0) }, "a token of Apple is hex in lower case")
                    }
                case .fcm(let token): try expect(token.text == text, "a token of Google is unchanged")
                case nil: break
                }
                if let token = DeviceToken.decode(text, for: .ios) {
                    try expect(DeviceToken.decode(token.text, for: .ios) == token, "a decoded token of Apple decodes to itself")
                }
                _ = DeviceToken.decode(text, for: .android)
            },
            // The first byte chooses the app.
            FuzzTarget(name: "softphone-push", vectors: gatewayVectors) { input throws(Violation) in
                let ids = ["ios", "android", "pushkit"]
                let body = Array(input.dropFirst())
                guard let fields = try readBounded(input, entryByteCount: 128, { JSONFields(body) }) else { return }
                var values = fields.values
                if values["AppId"] != nil { values["AppId"] = .string(ids[Int(input.first ?? 0) % 3]) }
                guard let push = try? SoftphonePush(JSONFields(values), apps: apps) else { return }
                try expect(
                    PayloadSize.byteCount(push.notification) <= PayloadSize.maximumByteCount, "a payload fits Apple's and Google's limit")
                try expect(!push.notification.token.isEmpty, "a push has a token")
            },
            FuzzTarget(name: "client-address", vectors: [], samples: ["192.0.2.7, 198.51.100.1\n[2001:db8::1]", "::ffff:10.0.0.1"]) {
                input throws(Violation) in
                guard let peer = IPAddress("192.0.2.1"), let other = IPAddress("192.0.2.2") else { return }
                let lines = input.split(separator: UInt8(ascii: "\n")).map { String(decoding: $0, as: UTF8.self) }
                let address = ClientAddress(trustedProxies: [other])
                try expect(address.resolve(peer: peer, forwarded: lines).client == peer, "an untrusted peer is the client")
                let client = address.resolve(peer: other, forwarded: lines).client
                try expect(IPAddress(client.description) == client, "an address is read as it is written")
            },
        ]

        private static let gatewayVectors = ["11_gateways"]
        private static let apps: [String: SoftphoneApp] = [
            "ios": SoftphoneApp(platform: .ios, topic: "org.example.app", silentContentTypes: ["application/silent"]),
            "android": SoftphoneApp(platform: .android),
            "pushkit": SoftphoneApp(platform: .ios, topic: "org.example.app.voip", isPushKit: true),
        ]
    }
#endif
