import CAllocationMeter

/// A part of the server that reads untrusted input. For any input it neither traps nor hangs, and it has the properties that ``check``
/// tests.
struct FuzzTarget: Sendable {
    var name: String
    /// Files of `Tests/Vectors`. Their hex and texts are seeds.
    var vectors: [String]
    /// Further seeds, for targets without vectors.
    var samples: [String] = []
    /// Throws ``Violation`` if the input breaks a property.
    var check: @Sendable ([UInt8]) throws(Violation) -> Void

    static let all = wire + envelope + [segments] + texts + [pushPayload] + inner

    #if DEBUG || FUZZER
        /// Targets that only a build for tests can reach.
        private static let inner = gorush + [settings, status] + nodes + gateways + [topicTable, topicPoll, history, cost]
    #else
        private static let inner: [FuzzTarget] = []
    #endif
}

/// A property that an input has broken.
struct Violation: Error {
    var property: String
}

func expect(_ holds: Bool, _ property: @autoclosure () -> String) throws(Violation) {
    if !holds { throw Violation(property: property()) }
}

/// Reads an input and throws if reading takes more memory than the input justifies.
///
/// - Parameters:
///   - input: The bytes that `read` reads.
///   - entryByteCount: The memory of the longest entry of a list. Two bytes of input may make one entry.
func readBounded<Value>(_ input: [UInt8], entryByteCount: Int = 0, _ read: () -> Value) throws(Violation) -> Value {
    func measure() -> (value: Value, peak: Int) {
        allocation_meter_start()
        let value = read()
        return (value, allocation_meter_peak())
    }
    // A growing list exists twice for a moment, with twice the capacity that it needs.
    let limit = 2 * input.count + 64 * 1_024 + input.count / 2 * entryByteCount * 3
    var (value, peak) = measure()
    // Libraries allocate memory at their first use, whatever the input. Only the second measurement counts.
    if peak > limit { (value, peak) = measure() }
    try expect(peak <= limit, "reading \(input.count) bytes takes \(limit) bytes of memory at most, and took \(peak)")
    return value
}
