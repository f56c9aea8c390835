import Bytes
import Envelope
import PushProtocol
import StatusCrypto
import TestSupport
import Testing
import Wire

/// The rate limits in memory.
@Suite(.safetyNet) struct AllowancesTests {
    private let start = Timestamp(nanoseconds: 1_800_000_000_000_000_000)

    private func time(_ seconds: Double) -> Timestamp { start.advanced(by: .seconds(seconds)) }

    // MARK: Credits

    private func buckets() -> CreditBuckets<String> { CreditBuckets(capacity: 3, interval: .seconds(5)) }

    @Test func `a bucket holds its capacity, and credits return one by one`() {
        var buckets = buckets()
        #expect(buckets.credits(of: "a", at: start) == 3)
        for left in [2, 1, 0] {
            buckets.spend(of: "a", at: start)
            #expect(buckets.credits(of: "a", at: start) == left)
        }
        #expect(buckets.credits(of: "b", at: start) == 3)
        #expect([4.9, 5, 9.9, 10, 15, 1_000].map { buckets.credits(of: "a", at: time($0)) } == [0, 1, 1, 2, 3, 3])
        #expect(buckets.nextCredit(of: "a", at: start) == time(5))
        #expect(buckets.nextCredit(of: "a", at: time(7)) == time(7))
    }

    @Test func `spending beyond the credits is a debt of at most one bucket`() {
        var buckets = buckets()
        buckets.spend(4, of: "a", at: start)
        #expect(buckets.credits(of: "a", at: start) == -1)
        #expect(buckets.nextCredit(of: "a", at: start) == time(10))
        buckets.spend(1_000_000, of: "a", at: start)
        #expect(buckets.credits(of: "a", at: start) == -3)
        #expect(buckets.credits(of: "a", at: time(30)) == 3)
    }

    @Test func `buckets that are full again are forgotten`() {
        var buckets = CreditBuckets<Int>(capacity: 3, interval: .seconds(5))
        for key in 0..<10_000 { buckets.spend(of: key, at: time(Double(key))) }
        #expect(buckets.count < 2_000)
        #expect(buckets.credits(of: 9_999, at: time(9_999)) == 2)
    }

    @Test(arguments: 0..<20 as Range<UInt64>)
    func `whatever is spent, a bucket is full again after its debt`(seed: UInt64) {
        var random = SplitMix64(seed: seed)
        var buckets = CreditBuckets<Int>(capacity: 3, interval: .seconds(5))
        var now = start
        for _ in 0..<3_000 {
            // The times are monotonic.
            now = now.advanced(by: .seconds(Int.random(in: 0..<4, using: &random)))
            let key = Int.random(in: 0..<2_000, using: &random)
            let before = buckets.credits(of: key, at: now)
            buckets.spend(Int.random(in: 0..<9, using: &random), of: key, at: now)
            let after = buckets.credits(of: key, at: now)
            #expect(-3...3 ~= after && after <= before)
            #expect(buckets.availability(of: 1, key: key, at: now) <= now.advanced(by: .seconds(5 * 4)))
        }
        let end = now.advanced(by: .seconds(2 * 3 * 5))
        #expect((0..<2_000).allSatisfy { buckets.credits(of: $0, at: end) == 3 })
    }

    @Test func `restricted buckets contain only their keys`() {
        var buckets = buckets()
        for key in ["a", "b"] { buckets.spend(of: key, at: start) }
        let part = buckets.restricted(to: ["b", "c"])
        #expect(["a", "b", "c"].map { part.credits(of: $0, at: start) } == [3, 2, 3])
        #expect(part.count == 1)
    }

    @Test(
        arguments: [
            ([1], [1], PushContent(chatID: [1], message: [8])), ([1], [2], PushContent(chatID: [], message: [])),
            ([], [2], PushContent(chatID: [], message: [])), ([], [], PushContent(chatID: [], message: [8])),
        ] as [([UInt8], [UInt8], PushContent)])
    func `coalesced pushes keep the newest message of one chat, or none of two`(older: [UInt8], newer: [UInt8], expected: PushContent) {
        #expect(PushContent(chatID: older, message: [7]).coalesced(with: PushContent(chatID: newer, message: [8])) == expected)
    }

    @Test(arguments: [(1, 1), (2, 2), (3, 3), (4, 4), (5, 1), (-1, 1), (.max, 1)] as [(Int32, Int32)])
    func `each type has a slot, and unknown ones share that of MESSAGE`(type: Int32, slot: Int32) {
        let target = Installation(keyHash: Fixture.keyHash, installationID: "a")
        #expect(PushSlot(target: target, type: .init(rawValue: type)).type == .init(rawValue: slot))
    }

    @Test func `a key registers 300 times at once, then twice a second`() {
        let key = Digest64(repeating: 1)
        var allowances = Allowances(now: start)
        func registrations(_ seconds: Double) -> Int {
            allowances.now = time(seconds)
            var count = 0
            while allowances.mayRegister(key) {
                allowances.spend(.registration(key, byteCount: 100))
                count += 1
            }
            return count
        }
        #expect([0, 0.4, 0.5, 10.5, 160.5, 100_000].map(registrations) == [300, 0, 1, 20, 300, 300])
        #expect(allowances.mayRegister(Digest64(repeating: 2)))
    }

    @Test func `a key writes 1 MiB of registrations in the order of arrival, then 1 MiB a minute`() {
        let (key, other) = (Digest64(repeating: 1), Digest64(repeating: 2))
        var allowances = Allowances(now: start)
        #expect(allowances.registrationByteCount(of: key) == 1 << 20)
        for _ in 1...3 { allowances.spend(.registration(key, byteCount: 256 << 10)) }
        #expect(allowances.registrationByteCount(of: key) == 256 << 10)
        for _ in 1...2 { allowances.spend(.registration(key, byteCount: 256 << 10)) }
        #expect(allowances.registrationByteCount(of: key) == 0)
        allowances.now = time(30)
        #expect(abs(allowances.registrationByteCount(of: key) - 256 << 10) < 1_024)
        #expect(allowances.registrationByteCount(of: other) == 1 << 20)
    }

    // MARK: Queries

    @Test func `the same query gets the same response once in two seconds, another response at once, and a retry always`() {
        let (query, other) = (Digest32(repeating: 1), Digest32(repeating: 2))
        var queries = RecentQueries()
        func allows(_ message: Int64, _ query: Digest32, _ digest: Int, at seconds: Double) -> Bool {
            queries.allows(message, query: query, digest: digest, at: time(seconds))
        }
        #expect(allows(1, query, 7, at: 0))
        queries.record(1, query: query, digest: 7, at: time(0))
        #expect(!allows(2, query, 7, at: 1.9))
        #expect(allows(2, query, 8, at: 1.9))
        #expect(allows(2, other, 7, at: 1.9))
        #expect(allows(1, query, 7, at: 1.9))
        #expect(allows(2, query, 7, at: 2))
        #expect(!queries.restricted(to: [query]).allows(2, query: query, digest: 7, at: time(1.9)))
        queries.record(2, query: query, digest: 7, at: time(2))
        #expect(!allows(3, query, 7, at: 3.9))
        #expect(allows(3, query, 7, at: 4))
    }

    // MARK: Fairness

    /// Returns the use of each key in some seconds, if each requests 1,000 a hundred times a second.
    private func uses(_ keyCount: Int, of shares: inout FairAllocation<Int>, seconds: Range<Int>) -> [Int] {
        var uses = Array(repeating: 0, count: keyCount)
        for tick in seconds.lowerBound * 100..<seconds.upperBound * 100 {
            for key in uses.indices where shares.allows(key, at: time(Double(tick) / 100)) {
                shares.use(1_000, by: key, at: time(Double(tick) / 100))
                uses[key] += 1_000
            }
        }
        return uses
    }

    @Test func `a single key permanently gets four fifths of the budget`() {
        var shares = FairAllocation<Int>(capacity: 80_000, decay: .seconds(8))
        _ = uses(1, of: &shares, seconds: 0..<100)
        let lasting = uses(1, of: &shares, seconds: 100..<200)[0]
        #expect(750_000...850_000 ~= lasting)
    }

    @Test func `keys that query without limit share the budget, and a new key is served at once`() {
        var shares = FairAllocation<Int>(capacity: 80_000, decay: .seconds(8))
        _ = uses(10, of: &shares, seconds: 0..<100)
        let lasting = uses(10, of: &shares, seconds: 100..<200)
        #expect(900_000...1_050_000 ~= lasting.reduce(0, +))
        #expect(lasting.allSatisfy { 80_000...120_000 ~= $0 })
        #expect(shares.allows(11, at: time(200)))
        #expect(shares.restricted(to: [11]).allows(11, at: time(200)))
    }

    @Test func `a clock that was set back makes no earlier use larger`() {
        var shares = FairAllocation<Int>(capacity: 80_000, decay: .seconds(8))
        shares.use(1_000, by: 1, at: time(1_000))
        #expect(shares.allows(1, at: time(0)) && shares.allows(2, at: time(0)))
        shares.use(80_000, by: 1, at: time(1_000))
        #expect(!shares.allows(1, at: time(0)))
    }
}
