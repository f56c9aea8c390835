import CAllocationMeter

/// A part of the server that reads what strangers send, and what must hold whatever they send: it neither traps nor hangs, and keeps the
/// promises that ``check`` looks at.
struct FuzzTarget: Sendable {
    var name: String
    /// Files of `Tests/Vectors`: the hex and the texts in them are where the search begins.
    var vectors: [String]
    /// More of these, where there are no vectors.
    var samples: [String] = []
    /// Throws ``Violation`` where a promise is broken.
    var check: @Sendable ([UInt8]) throws(Violation) -> Void

    static let all = wire + envelope + [segments] + texts + inner

    #if DEBUG || FUZZER
        /// What only a build for tests can reach.
        private static let inner = gorush + [settings] + nodes + gateways + [topicTable, topicPoll, history, cost]
    #else
        private static let inner: [FuzzTarget] = []
    #endif
}

/// A promise that an input has broken.
struct Violation: Error {
    var promise: String
}

func expect(_ holds: Bool, _ promise: @autoclosure () -> String) throws(Violation) {
    if !holds { throw Violation(promise: promise()) }
}

/// Reads an input and sees to it that reading takes no more memory than the input justifies.
///
/// - Parameters:
///   - input: as long as what is read.
///   - entryByteCount: what the longest entry of a list takes in memory: two bytes of input may make one.
func readBounded<Value>(_ input: [UInt8], entryByteCount: Int = 0, _ read: () -> Value) throws(Violation) -> Value {
    func measure() -> (value: Value, peak: Int) {
        allocation_meter_start()
        let value = read()
        return (value, allocation_meter_peak())
    }
    // A list that grows is held twice for a moment, and has room for as many again.
    let limit = 2 * input.count + 64 * 1_024 + input.count / 2 * entryByteCount * 3
    var (value, peak) = measure()
    // What libraries set up at their first use is nobody's input.
    if peak > limit { (value, peak) = measure() }
    try expect(peak <= limit, "reading \(input.count) bytes takes \(limit) bytes of memory at most, and took \(peak)")
    return value
}
