import Envelope
import Store
import TestSupport
import Testing

/// The holes of a topic, as they are stored with its checkpoints.
@Suite(.safetyNet) struct StoredHolesTests {
    static let topic = "/waku/2/rs/16/32"

    static func time(_ seconds: Int64) -> Timestamp { start.advanced(by: .seconds(seconds)) }

    static func progress(_ seconds: Int64, at node: String? = nil, of topic: String = topic) -> HistoryProgress {
        HistoryProgress(of: topic, at: node, checkpoint: time(seconds))
    }

    @Test(arguments: StoreUnderTest.all)
    func `a hole begins at the newest checkpoint of any node, and survives a crash together with the checkpoint`(
        kind: StoreUnderTest
    ) async throws {
        try await kind.withCrash { store async throws in
            for (seconds, node) in [(0, "one:8645"), (100, "two:8645"), (50, nil)] as [(Int64, String?)] {
                try await store.save(Self.progress(seconds, at: node))
            }
            try await store.save(Self.progress(900, of: "/waku/2/rs/16/320"))
            var progress = Self.progress(1_000)
            progress.start = Self.time(1_000)
            try await store.save(progress)
        } after: { store async throws in
            #expect(try await store.checkpoints(of: Self.topic)[Self.topic] == Self.time(1_000))
            let hole = Hole(Self.time(100)...Self.time(1_000), foundAt: Self.time(1_000))
            let open = try await store.holes(of: Self.topic)
            #expect(open.holes == [hole] && open.listed == [])
            #expect(try await store.holes(of: "/waku/2/rs/16/320").holes == [])
            var progress = Self.progress(1_060)
            progress.seconds = [Self.time(400).nanoseconds / 1_000_000_000]
            progress.listedAt = Self.time(1_060)
            try await store.save(progress)
            let cut = try await store.holes(of: Self.topic)
            #expect(cut.holes.map(\.period) == [Self.time(100)...Self.time(400), Self.time(400)...Self.time(1_000)])
            #expect(cut.listed == cut.holes)
        }
    }

    @Test(arguments: StoreUnderTest.all)
    func `the checkpoint of a node that left while the clock was a year ahead hides no hole`(kind: StoreUnderTest) async throws {
        try await kind.withStore { store async throws in
            try await store.save(Self.progress(365 * 86_400, at: "gone:8645"))
            try await store.save(Self.progress(100))
            var progress = Self.progress(1_000)
            progress.start = Self.time(1_000)
            try await store.save(progress)
            #expect(try await store.holes(of: Self.topic).holes.map(\.period) == [Self.time(100)...Self.time(1_000)])
        }
    }

    @Test func `every living server lists a hole, and what another one received is none`() async throws {
        try await Cluster.with { cluster in
            var progress = Self.progress(1_000)
            progress.missed = [Self.time(0)...Self.time(1_000)]
            try await cluster.one.save(progress)
            progress = Self.progress(1_010)
            progress.listedAt = Self.time(1_010)
            try await cluster.one.save(progress)
            #expect(try await cluster.two.holes(of: Self.topic).listed == [])
            try await cluster.two.save(progress)
            let open = try await cluster.one.holes(of: Self.topic)
            #expect(open.holes.count == 1 && open.listed == open.holes)
            progress.received = Self.time(-3_600)...Self.time(985)
            try await cluster.two.save(progress)
            #expect(try await cluster.one.holes(of: Self.topic).holes == [])
        }
    }

    @Test func `a server that is gone need not list`() async throws {
        try await Cluster.with { cluster in
            var progress = Self.progress(1_000)
            progress.missed = [Self.time(0)...Self.time(1_000)]
            progress.listedAt = Self.time(1_000)
            try await cluster.two.save(progress)
            #expect(try await cluster.two.holes(of: Self.topic).listed == [])
            try await cluster.endLeases(of: cluster.one)
            #expect(try await cluster.two.holes(of: Self.topic).listed.count == 1)
        }
    }
}
