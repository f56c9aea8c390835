import Foundation
import Synchronization

/// A proxy for the Unix socket of a PostgreSQL server, which a test can close. Each direction of a connection has its own thread.
package final class SocketGate: Sendable {
    private struct State {
        var isOpen = true
        var passages: [ObjectIdentifier: Passage] = [:]
        /// The text at which the next connection is held, and whether the text itself still passes.
        var hold: (text: String, passes: Bool)?
        var held: Passage?
    }

    private let folder: TemporaryFolder
    private let target: String
    private let listener: Int32
    private let state = Condition(State())

    /// - Parameter socket: The folder of the server's socket.
    package init(to socket: String) throws {
        folder = try TemporaryFolder()
        target = Self.path(in: socket)
        listener = Foundation.socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        guard unsafe Self.call(bind, listener, Self.path(in: folder.path(""))), listen(listener, 128) == 0 else {
            throw POSIXError(.EADDRNOTAVAIL)
        }
        Thread.detachNewThread { [listener, target, state] in
            while true {
                let client = accept(listener, nil, nil)
                guard client >= 0 else { break }
                Self.pass(client, to: target, state)
            }
            Foundation.close(listener)
        }
    }

    deinit {
        close()
        // Unlike `close`, `shutdown` ends an `accept` in progress.
        shutdown(listener, Int32(SHUT_RDWR))
    }

    /// The folder of the gate's socket.
    package var socket: String { folder.path("") }

    /// Breaks all connections, and each later connection immediately.
    package func close() {
        let passages = state.change { state in
            state.isOpen = false
            return Array(state.passages.values)
        }
        for passage in passages { passage.end() }
    }

    package func open() { state.change { $0.isOpen = true } }

    /// Holds the next connection on which the client sends this text. The gate then forwards no bytes in either direction, and hides the
    /// end of the server from the client.
    ///
    /// - Parameter passes: Whether the text itself still reaches the server.
    package func hold(at text: String, passes: Bool) { state.change { $0.hold = (text, passes) } }

    /// Returns when a connection is held.
    package func waitForHeld() async { await state.wait { $0.held != nil } }

    /// Breaks the held connection.
    package func breakHeld() { state.change { $0.held }?.end() }

    private static func pass(_ client: Int32, to target: String, _ state: Condition<State>) {
        let server = Foundation.socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        let passage = Passage(client: client, server: server)
        let isOpen =
            unsafe call(connect, server, target)
            && state.change { state in
                if state.isOpen { state.passages[ObjectIdentifier(passage)] = passage }
                return state.isOpen
            }
        // Without a connection to read from, both directions end at once.
        if !isOpen { passage.end() }
        Thread.detachNewThread {
            passage.forward(from: client, to: server) { bytes in
                state.change { state in
                    guard let hold = state.hold, bytes.firstRange(of: Array(hold.text.utf8)) != nil else { return nil }
                    (state.hold, state.held) = (nil, passage)
                    return hold.passes
                }
            }
            state.change { $0.passages[ObjectIdentifier(passage)] = nil }
        }
        Thread.detachNewThread { passage.forward(from: server, to: client) { _ in nil } }
    }

    /// Returns the path at which PostgreSQL's library expects the socket.
    private static func path(in folder: String) -> String { folder + "/.s.PGSQL.5432" }

    private static func call(
        _ function: (Int32, UnsafePointer<sockaddr>?, socklen_t) -> Int32, _ descriptor: Int32, _ path: String
    ) -> Bool {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        unsafe withUnsafeMutableBytes(of: &address.sun_path) { unsafe $0.copyBytes(from: path.utf8) }
        return unsafe withUnsafePointer(to: address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe function(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size)) == 0
            }
        }
    }
}

/// A connection through a gate: two sockets, which close when both directions have ended.
private final class Passage: Sendable {
    private let client: Int32
    private let server: Int32
    private let isHeld = Mutex(false)

    init(client: Int32, server: Int32) { (self.client, self.server) = (client, server) }

    deinit {
        Foundation.close(client)
        Foundation.close(server)
    }

    /// Shuts down both directions.
    func end() {
        shutdown(client, Int32(SHUT_RDWR))
        shutdown(server, Int32(SHUT_RDWR))
    }

    /// Forwards bytes until one side ends.
    ///
    /// - Parameter hold: A function that returns nil if forwarding continues. Otherwise the passage is held until its end, and the result
    ///   tells whether these bytes still pass.
    func forward(from source: Int32, to destination: Int32, hold: ([UInt8]) -> Bool?) {
        var buffer = [UInt8](repeating: 0, count: 64 * 1024)
        while true {
            let count = unsafe recv(source, &buffer, buffer.count, 0)
            guard count > 0 else { break }
            let passes = isHeld.withLock { isHeld in
                guard !isHeld else { return false }
                let passes = hold(Array(buffer[..<count]))
                isHeld = passes != nil
                return passes ?? true
            }
            guard passes else { break }
            var sent = 0
            while sent < count {
                let part = unsafe buffer[sent..<count].withUnsafeBytes {
                    unsafe send(destination, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
                }
                guard part > 0 else { break }
                sent += part
            }
            guard sent == count else { break }
        }
        // The end of the server must not reach the client of a held passage.
        if !isHeld.withLock(\.self) { end() }
    }
}
