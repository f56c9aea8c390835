import CLibPQ
import Glibc

/// Makes a connection as `PQconnectdbParams` does. That function prints notices of the server to standard error: only between the start of
/// a connection and its completion can a receiver be set.
struct ConnectionStart {
    private var parameters: [String: String]

    init(_ parameters: [String: String]) { self.parameters = parameters }

    /// Connects to the first of the hosts that answers in time and takes writes.
    ///
    /// - Parameter prepare: Sets the receiver.
    /// - Returns: The connection, which the caller frees. Its status tells whether it was made.
    /// - Throws: `PostgreSQLError` if no host has answered in time, or if there is no memory.
    mutating func run(_ prepare: (OpaquePointer) -> Void) throws(PostgreSQLError) -> OpaquePointer {
        while true {
            guard let connection = unsafe start() else { throw .outOfMemory }
            unsafe prepare(connection)
            if unsafe complete(connection) { return unsafe connection }
            let host = unsafe PQhost(connection).map { unsafe String(cString: $0) } ?? ""
            unsafe PQfinish(connection)
            guard skip(host) else { throw .disconnected("\(host) has not answered within \(timeoutSeconds) s") }
        }
    }

    private func start() -> OpaquePointer? {
        let keywords = Array(parameters.keys)
        return unsafe CStrings.with(keywords) { keys in
            unsafe CStrings.with(keywords.map { parameters[$0] ?? "" }) { values in unsafe PQconnectStartParams(keys, values, 0) }
        }
    }

    /// - Returns: False if a host has not answered in time.
    private func complete(_ connection: OpaquePointer) -> Bool {
        var host = unsafe PQhost(connection)
        var start = ContinuousClock.now
        var events = Int16(POLLOUT)
        while unsafe PQstatus(connection) != CONNECTION_BAD {
            var remaining: Int32 = -1
            if timeoutSeconds > 0 {
                let left = Duration.seconds(timeoutSeconds) - (ContinuousClock.now - start)
                guard left > .zero else { return false }
                remaining = Int32(clamping: Int(left / .milliseconds(1)) + 1)
            }
            var descriptor = unsafe pollfd(fd: PQsocket(connection), events: events, revents: 0)
            let count = unsafe poll(&descriptor, 1, remaining)
            if count == 0 || count < 0 && errno == EINTR { continue }
            switch unsafe PQconnectPoll(connection) {
            case PGRES_POLLING_READING: events = Int16(POLLIN)
            case PGRES_POLLING_WRITING: events = Int16(POLLOUT)
            default: return true
            }
            // libpq has gone on to the next host, which has time of its own.
            if unsafe PQhost(connection) != host { unsafe (host, start) = (PQhost(connection), ContinuousClock.now) }
        }
        return true
    }

    /// The time of a host, or 0 for no limit.
    private var timeoutSeconds: Int {
        let seconds = parameters["connect_timeout"].flatMap { Int($0) } ?? 0
        return seconds > 0 ? min(seconds, 1_000) : 0
    }

    /// Leaves out the hosts up to one.
    ///
    /// - Returns: Whether any are left.
    private mutating func skip(_ host: String) -> Bool {
        let hosts = (parameters["host"] ?? "").split(separator: ",", omittingEmptySubsequences: false)
        guard let index = hosts.firstIndex(where: { $0 == host }), index + 1 < hosts.count else { return false }
        for keyword in ["host", "hostaddr", "port"] {
            let values = (parameters[keyword] ?? "").split(separator: ",", omittingEmptySubsequences: false)
            if values.count == hosts.count { parameters[keyword] = values.dropFirst(index + 1).joined(separator: ",") }
        }
        return true
    }
}

/// Strings for libpq.
enum CStrings {
    /// Lends strings as an array of C strings that ends with a null pointer.
    static func with<Result>(_ strings: [String], _ body: (UnsafePointer<UnsafePointer<CChar>?>) -> Result) -> Result {
        let copies = unsafe strings.map { unsafe strdup($0) }
        defer { unsafe copies.forEach { unsafe free($0) } }
        let pointers = unsafe copies.map { unsafe UnsafePointer($0) } + [nil]
        return unsafe pointers.withUnsafeBufferPointer { buffer in
            // The buffer has at least the null pointer.
            guard let base = buffer.baseAddress else { preconditionFailure("no strings") }
            return unsafe body(base)
        }
    }
}
