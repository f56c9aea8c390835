import Foundation
import Synchronization

/// A TCP server on a loopback port whose behaviour is plain code on blocking sockets: for what no HTTP server would do, such as
/// breaking off in the middle. Each connection has a thread of its own. It listens until `stop`, or until the process ends.
package final class RawServer: Sendable {
    package let port: UInt16
    private let listener: CInt
    private let accepted = Mutex(0)

    /// - Parameter handle: called with each connection, which is closed afterwards.
    package init(_ handle: @escaping @Sendable (RawConnection) -> Void) throws {
        let listener = socket(AF_INET, CInt(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isListening = unsafe withUnsafeMutablePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                unsafe bind(listener, pointer, length) == 0 && listen(listener, 128) == 0
                    && getsockname(listener, pointer, &length) == 0
            }
        }
        guard isListening else { throw POSIXError(.EADDRNOTAVAIL) }
        self.listener = listener
        port = UInt16(bigEndian: address.sin_port)
        // Holds the server: a test whose last look at it is for the URL must not end it.
        Thread { [self, listener] in
            while true {
                let descriptor = accept(listener, nil, nil)
                guard descriptor >= 0 else { break }
                accepted.withLock { $0 += 1 }
                Thread {
                    let connection = RawConnection(descriptor: descriptor)
                    handle(connection)
                    connection.close()
                }.start()
            }
            _ = Foundation.close(listener)
        }.start()
    }

    /// How many connections there were.
    package var connectionCount: Int { accepted.withLock { $0 } }

    package var url: String { "http://127.0.0.1:\(port)" }

    /// No further connections; those that are open stay.
    package func stop() {
        // Unlike close, it ends an `accept` under way, and the number cannot be given away meanwhile.
        _ = Foundation.shutdown(listener, CInt(SHUT_RDWR))
    }
}

/// A connection: an accepted one, used by the thread that handles it, or one to a loopback port.
package struct RawConnection: Sendable {
    fileprivate let descriptor: CInt

    /// The next request, header and body (by its Content-Length); nil when the peer has closed.
    package func readRequest() -> String? {
        var request = ""
        while !isComplete(request) {
            var buffer = [UInt8](repeating: 0, count: 64 * 1024)
            let count = unsafe recv(descriptor, &buffer, buffer.count, 0)
            guard count > 0 else { return nil }
            request += String(decoding: buffer[..<count], as: UTF8.self)
        }
        return request
    }

    /// The first line of the next request, whose body is read and dropped; nil when the peer has closed. For what is measured: costs less
    /// than ``readRequest()``.
    package func readRequestLine() -> String? {
        var head: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 4 * 1024)
        while true {
            let count = unsafe recv(descriptor, &buffer, buffer.count, 0)
            guard count > 0 else { return nil }
            head += buffer[..<count]
            guard let end = Self.headEnd(of: head) else { continue }
            let lines = head[..<end].split(separator: 0x0D)
            let length = lines.lazy.map { String(decoding: $0, as: UTF8.self).lowercased() }.first { $0.hasPrefix("\ncontent-length:") }
                .flatMap { Int($0.dropFirst(16).filter { $0 != " " }) }
            var rest = (length ?? 0) - (head.count - end - 4)
            while rest > 0 {
                let count = unsafe recv(descriptor, &buffer, min(rest, buffer.count), 0)
                guard count > 0 else { return nil }
                rest -= count
            }
            return String(decoding: lines.first ?? [], as: UTF8.self)
        }
    }

    /// Where the empty line begins.
    private static func headEnd(of bytes: [UInt8]) -> Int? {
        bytes.indices.dropLast(3).first { bytes[$0] == 0x0D && bytes[$0 + 1] == 0x0A && bytes[$0 + 2] == 0x0D && bytes[$0 + 3] == 0x0A }
    }

    private func isComplete(_ request: String) -> Bool {
        guard let end = request.range(of: "\r\n\r\n") else { return false }
        let length = request[..<end.lowerBound].components(separatedBy: "\r\n").compactMap { line in
            line.lowercased().hasPrefix("content-length:") ? Int(line.dropFirst(15).trimmingCharacters(in: .whitespaces)) : nil
        }
        return request[end.upperBound...].utf8.count >= length.first ?? 0
    }

    /// Writes all of it, unless the peer is gone.
    package func write(_ text: String) {
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            let count = unsafe rest.withUnsafeBytes { unsafe send(descriptor, $0.baseAddress, $0.count, CInt(MSG_NOSIGNAL)) }
            guard count > 0 else { return }
            rest = rest.dropFirst(count)
        }
    }

    /// A complete answer.
    ///
    /// - Parameter isLast: whether it says that the connection ends; otherwise that can be used again.
    package func respond(status: Int = 200, body: String = "", isLast: Bool = false) {
        let connection = isLast ? "Connection: close\r\n" : ""
        write("HTTP/1.1 \(status) Status\r\n\(connection)Content-Length: \(body.utf8.count)\r\n\r\n\(body)")
    }

    /// Returns when the peer closes.
    package func waitForEnd() {
        while readRequest() != nil {}
    }

    /// The close that follows is a reset (RST) and throws away what was not yet sent.
    package func resetWhenClosed() {
        var option = linger(l_onoff: 1, l_linger: 0)
        unsafe setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &option, socklen_t(MemoryLayout<linger>.size))
    }

    fileprivate init(descriptor: CInt) {
        self.descriptor = descriptor
    }

    /// Connects to a loopback port. The caller closes the connection.
    package init(to port: Int) throws {
        descriptor = socket(AF_INET, CInt(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = UInt16(port).bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        let isConnected = unsafe withUnsafePointer(to: &address) { [descriptor] pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                unsafe connect(descriptor, pointer, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
        guard isConnected else { throw POSIXError(.ECONNREFUSED) }
    }

    /// Returns everything that the peer sends until it closes its side. A thread of its own waits for it.
    package func readToEnd() async -> String {
        await withCheckedContinuation { continuation in
            Thread {
                var text = ""
                var buffer = [UInt8](repeating: 0, count: 64 * 1024)
                while true {
                    let count = unsafe recv(descriptor, &buffer, buffer.count, 0)
                    guard count > 0 else { break }
                    text += String(decoding: buffer[..<count], as: UTF8.self)
                }
                continuation.resume(returning: text)
            }.start()
        }
    }

    /// Ends both directions, which ends a read in progress.
    package func shutDown() {
        _ = Foundation.shutdown(descriptor, CInt(SHUT_RDWR))
    }

    package func close() {
        _ = Foundation.close(descriptor)
    }
}
