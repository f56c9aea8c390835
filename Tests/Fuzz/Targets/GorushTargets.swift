#if DEBUG || FUZZER
    import Envelope
    import PushProtocol
    import Bytes
    import StatusCrypto
    import Store
    import Wire

    @testable import Delivery
    @testable import HTTPClient

    extension FuzzTarget {
        /// The responses of gorush, or of another server at its address.
        static let gorush: [FuzzTarget] = [
            // The first byte is the status, and the second one the number of notifications.
            FuzzTarget(name: "gorush-answer", vectors: [], samples: answers) { input throws(Violation) in
                guard input.count >= 2 else { return }
                let status = statuses[Int(input[0]) % statuses.count]
                let batch = batch(count: 1 + Int(input[1] % 3))
                let response = HTTPResponse(status: status, body: Array(input[2...]))
                let answer = try readBounded(input, entryByteCount: decoderEntryByteCount) {
                    GorushResponse(response, expectedCount: batch.count)
                }
                if case .accepted(let failures) = answer {
                    try expect(status == 200, "only a 200 accepts pushes")
                    for failure in failures { try check(failure) }
                }
                if case .outcomes(let outcomes, _) = ResponseInterpretation(answer, batch: batch, retriesItself: false) {
                    try expect(outcomes.count == batch.count, "each push has an outcome")
                    if status != 200 { try expect(!outcomes.contains(.sent), "only a 200 has a sent push") }
                }
            },
            FuzzTarget(name: "gorush-configuration", vectors: [], samples: [configuration]) { input throws(Violation) in
                guard let instance = GorushInstance(Array(input)) else { return }
                try expect(instance.queueCount > 0, "the capacity of a queue is positive")
                try expect(instance.maximumNotificationCount ?? 1 > 0, "a request may contain a notification")
                _ = instance.warnings(for: .init(platform: .ios))
            },
            FuzzTarget(name: "header-lines", vectors: [], samples: ["Retry-After: 120\r\nContent-Type: application/json\r\n\r\n"]) {
                input throws(Violation) in
                let lines = input.split(separator: UInt8(ascii: "\n"))
                var headers = HTTPHeaders()
                for line in lines { headers.append(line: line) }
                try expect(headers.fields.count <= lines.count, "a line is at most one field")
                for (name, value) in headers.fields {
                    try expect(!name.contains(":"), "a name ends at the colon")
                    let ends = [value.utf8.first, value.utf8.last].compactMap(\.self)
                    try expect(!ends.contains { " \t\r\n".utf8.contains($0) }, "no white space around a value")
                    // Only letters that a name may contain change case: ſ becomes S in capitals, and then s.
                    let capitals = name.utf8.map { (UInt8(ascii: "a")...UInt8(ascii: "z")).contains($0) ? $0 - 0x20 : $0 }
                    try expect(headers[String(decoding: capitals, as: UTF8.self)] != nil, "a field is found in any case")
                }
                guard case .unavailable(let reason) = GorushResponse(HTTPResponse(status: 503, headers: headers), expectedCount: 1)
                else { throw Violation(property: "a 503 means unavailable") }
                try expect(
                    reason.retryAfter.map { .zero <= $0 && $0 <= GorushResponse.maximumRetryAfter } ?? true,
                    "a wait is at most an hour")
            },
        ]

        private static let failure =
            #"{"type":"failed-push","platform":"ios","token":"abababababababab","message":"m","error":"BadDeviceToken","notif_id":"0"}"#
        /// The first two characters are the status and the number of notifications.
        private static let answers = [
            "\0\0" + #"{"counts":1,"logs":[],"success":"ok"}"#, "\0\u{2}" + #"{"counts":3,"logs":[\#(failure)],"success":"ok"}"#,
            #"66{"message":"Number of notifications(500) over limit(100)"}"#, "66Client sent an HTTP request to an HTTPS server.",
        ]
        private static let configuration = """
            core:
              sync: true
              max_notification: 100
              queue_num: 0
              worker_num: 8
              pid:
                enabled: false
            queue:
              engine: "local"
            ios:
              enabled: true
              production: true
              max_concurrent_pushes: 100
              max_retry: 0
            android:
              enabled: true
              max_retry: 0
            """

        /// The memory of an entry: Foundation's decoder stores each value's position, and then a structure.
        private static let decoderEntryByteCount = 256
        private static let statuses = [200, 200, 200, 200, 201, 302, 400, 400, 401, 403, 404, 408, 413, 429, 500, 502, 503, 504]

        private static func check(_ failure: GorushFailure) throws(Violation) {
            let classified = FailureTaxonomy.classify(failure.error)
            let words = classified.words
            try expect(
                words.count <= 200 && words.allSatisfy { ($0.isASCII && $0 >= " ") || $0 == "…" }, "the words are one short line")
            for text in [failure.error, failure.token?.text ?? ""] where text.utf8.count > 16 && failure.identifier?.contains(text) != true
            {
                try expect(!"\(failure)".contains(text), "a description contains neither the token nor gorush's words")
            }
            let token: DeviceToken = "a device token that is as long as those of Apple and Google are"
            _ = GorushFailures([failure], of: [token, "another"]).failure(of: token)
        }

        private static func batch(count: Int) -> [DeliveryItem] {
            (0..<count).map { number in
                let token: DeviceToken = "device token \(number)"
                let push = AcceptedPush(
                    target: Installation(keyHash: FixedBytes(), installationID: "\(number)"), deduplicationKey: FixedBytes(),
                    tokenType: .apn,
                    deviceToken: token, apnTopic: "topic", type: .message, chatID: [], message: [])
                return DeliveryItem(
                    identifier: FixedBytes(repeating: UInt8(number)),
                    notification: GorushNotification(
                        identifier: "\(number)", tokens: [token], platform: .ios, data: .plain([:])),
                    pushes: [QueuedPush(id: Int64(number), request: 1, push: push, acceptedAt: Timestamp(nanoseconds: 1))])
            }
        }
    }
#endif
