import Foundation
import Synchronization

/// A TCP server on a loopback port, written as plain code on blocking sockets. The code can do things that an HTTP server would not, such
/// as break off a response. Each connection has its own thread. The server listens until `stop`, or until the process exits.
package final class RawServer: Sendable {
    package let port: UInt16
    private let listener: CInt
    private let accepted = Mutex(0)

    /// - Parameter handle: A function that is called with each connection. The server closes the connection afterwards.
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
        // The thread holds the server: it must not stop when a test releases it after reading its URL.
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

    /// The number of connections so far.
    package var connectionCount: Int { accepted.withLock { $0 } }

    package var url: String { "http://127.0.0.1:\(port)" }

    /// Stops accepting connections. Open connections stay open.
    package func stop() {
        // Unlike close, a shutdown ends an `accept` in progress, and the system cannot reuse the descriptor meanwhile.
        _ = Foundation.shutdown(listener, CInt(SHUT_RDWR))
    }
}

/// A connection: one that the server accepted, used by its thread, or one to a loopback port.
package struct RawConnection: Sendable {
    fileprivate let descriptor: CInt

    /// Returns the next request with its header and body (by its Content-Length), or nil when the peer has closed.
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

    /// Returns the first line of the next request and drops its body, or nil when the peer has closed. Measurements use this, because it
    /// costs less than ``readRequest()``.
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

    /// Returns the index of the empty line after the header.
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

    /// Writes the whole text, unless the peer has closed.
    package func write(_ text: String) {
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            let count = unsafe rest.withUnsafeBytes { unsafe send(descriptor, $0.baseAddress, $0.count, CInt(MSG_NOSIGNAL)) }
            guard count > 0 else { return }
            rest = rest.dropFirst(count)
        }
    }

    /// Writes a complete response.
    ///
    /// - Parameter isLast: Whether the response announces the end of the connection. Otherwise the peer can reuse it.
    package func respond(status: Int = 200, body: String = "", isLast: Bool = false) {
        let connection = isLast ? "Connection: close\r\n" : ""
        write("HTTP/1.1 \(status) Status\r\n\(connection)Content-Length: \(body.utf8.count)\r\n\r\n\(body)")
    }

    /// Waits until the peer closes.
    package func waitForEnd() {
        while readRequest() != nil {}
    }

    /// Makes the close that follows a reset (RST), which discards unsent bytes.
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

    /// Returns what the peer sends up to an empty line. A separate thread waits for it.
    package func readHead() async -> String? {
        await withCheckedContinuation { continuation in
            Thread { continuation.resume(returning: readRequest()) }.start()
        }
    }

    /// Returns everything that the peer sends until it closes its side. A separate thread waits for it.
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

    /// Closes both directions, which ends a read in progress.
    package func shutDown() {
        _ = Foundation.shutdown(descriptor, CInt(SHUT_RDWR))
    }

    package func close() {
        _ = Foundation.close(descriptor)
    }
}
