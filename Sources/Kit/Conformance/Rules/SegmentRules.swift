import Bytes
import Envelope
import StatusCrypto
import Wire

extension Rule {
    static let segments: [Rule] = [
        segmented("segment.in-order", "A message in segments is read when they arrive in order.") { $0 },
        segmented("segment.any-order", "A message in segments is read when they arrive in any order.") { segments in
            Array(segments.dropFirst(3).reversed()) + segments.prefix(3)
        },
        segmented("segment.parity", "Parity segments stand for data segments that are lost.") { segments in
            // One data segment in the middle, and the last, which is shorter.
            let dataCount = segments.count - segments.count / 9
            return segments.enumerated().filter { ![2, dataCount - 1].contains($0.offset) }.map(\.element)
        },
        segmented("segment.duplicates", "A segment that arrives twice counts once.") { segments in
            Array(segments.prefix(2) + segments.prefix(2) + segments.dropFirst(2))
        },
        Rule(
            "segment.incomplete", .ours, nil, "PROTOCOL.md §5.1",
            "An incomplete message gets no reply until its last segment arrives."
        ) { play in
            let alice = play.client()
            let long = alice.longRegistration(entryCount: 4)
            let segments = Segmenter(segmentByteCount: Client.segmentByteCount).segment(long.data)
            try await play.expectSilence(toward: alice) {
                for segment in segments.dropLast() { try await alice.send(data: segment) }
            }
            try await alice.registrationResponse(to: long.payload) {
                try await alice.send(data: segments[segments.count - 1])
            }.expectSuccess()
        },
        Rule(
            "segment.hash", .ours, nil, "PROTOCOL.md §5.1",
            "Segments that do not add up to the message with their hash are discarded."
        ) { play in
            let alice = play.client()
            let long = alice.longRegistration(entryCount: 4)
            try await play.expectSilence(toward: alice) {
                for segment in Segmenter(segmentByteCount: Client.segmentByteCount).segment(long.data) {
                    var changed = try SegmentMessage.decode(segment)
                    changed.entireMessageHash = Keccak.keccak256(long.payload).bytes
                    try await alice.send(data: changed.encoded())
                }
            }
        },
        Rule(
            "segment.signers-apart", .ours, nil, "PROTOCOL.md §5.1",
            "A segment of another signer does not spoil a message: sets belong to the signer of their frames."
        ) { play in
            let (alice, mallory) = (play.client(), play.client())
            let long = alice.longRegistration(entryCount: 4)
            let segments = Segmenter(segmentByteCount: Client.segmentByteCount).segment(long.data)
            var forged = try SegmentMessage.decode(segments[0])
            forged.payload = play.bytes(forged.payload.count)
            try await mallory.send(data: forged.encoded())
            try await alice.registrationResponse(to: long.payload) {
                for segment in segments { try await alice.send(data: segment) }
            }.expectSuccess()
        },
        Rule(
            "segment.two-at-once", .ours, nil, "PROTOCOL.md §5.1",
            "The messages of two senders are read although their segments arrive by turns."
        ) { play in
            let (alice, bob) = (play.client(), play.client())
            let (first, second) = (alice.longRegistration(entryCount: 4), bob.longRegistration(entryCount: 4))
            let segmenter = Segmenter(segmentByteCount: Client.segmentByteCount)
            try await alice.registrationResponse(to: first.payload) {
                try await bob.registrationResponse(to: second.payload) {
                    for (one, other) in zip(segmenter.segment(first.data), segmenter.segment(second.data)) {
                        try await alice.send(data: one)
                        try await bob.send(data: other)
                    }
                }.expectSuccess()
            }.expectSuccess()
        },
        Rule(
            "segment.invalid", .ours, nil, "PROTOCOL.md §5.1",
            "Segments with an index beyond their count or a hash of another length are discarded, and the server goes on."
        ) { play in
            let alice = play.client()
            try await play.expectSilence(toward: alice) {
                for (index, count, hashByteCount) in [(7, 3, 32), (0, 2, 31), (UInt32.max, UInt32.max, 32)] as [(UInt32, UInt32, Int)] {
                    var segment = SegmentMessage()
                    segment.entireMessageHash = play.bytes(hashByteCount)
                    segment.index = index
                    segment.segmentsCount = count
                    segment.payload = play.bytes(100)
                    try await alice.send(data: segment.encoded())
                }
            }
        },
        Rule(
            "segment.query", .ours, nil, "PROTOCOL.md §5.1",
            "Queries in segments are read on a query topic, too."
        ) { play in
            let (alice, bob) = (try await play.registeredClient(), play.client())
            let data = bob.signedQuery([[UInt8]](repeating: play.bytes(64), count: 40) + [alice.hash.bytes])
            let reply = try await bob.queryResponse(to: data) {
                for segment in Segmenter(segmentByteCount: Client.segmentByteCount).segment(data) {
                    try await bob.send(query: segment, about: alice)
                }
            }
            try expect(try reply.info(of: alice).publicKey == alice.hash.bytes, "the info is about another key")
        },
    ]

    /// Creates a rule about a long registration in segments.
    ///
    /// - Parameter arrange: Returns the segments that are sent, in their order, from all: 16 with data and 2 with parity.
    private static func segmented(
        _ id: String, _ title: String, arrange: @escaping @Sendable ([[UInt8]]) -> [[UInt8]]
    ) -> Rule {
        Rule(id, .ours, nil, "PROTOCOL.md §5.1", title) { play in
            let alice = play.client()
            let long = alice.longRegistration(entryCount: 17)
            let segments = Segmenter(segmentByteCount: Client.segmentByteCount).segment(long.data)
            try await alice.registrationResponse(to: long.payload) {
                for segment in arrange(segments) { try await alice.send(data: segment) }
            }.expectSuccess()
            let list = try await play.client().query(alice).info(of: alice).allowedKeyList
            try expect(list == long.list, "the list of a registration in segments is not stored as it was sent")
        }
    }
}

extension Client {
    /// Small, so that a message has many segments.
    fileprivate static let segmentByteCount = 1_000

    /// Returns a registration whose list has entries of 900 bytes, encrypted, and as signed data to cut into segments.
    fileprivate func longRegistration(entryCount: Int) -> (list: [[UInt8]], payload: [UInt8], data: [UInt8]) {
        let list = (0..<entryCount).map { _ in play.bytes(900) }
        let payload = encrypted(
            registration {
                // The reference shows a list only with this flag.
                $0.allowFromContactsOnly = true
                $0.allowedKeyList = list
            }.encoded())
        return (list, payload, signed(payload, .pushNotificationRegistration))
    }
}
