import Foundation

/// systemd, or another service manager with its protocol. It gets the server's state in datagrams to the socket that the environment names
/// (https://www.freedesktop.org/software/systemd/man/latest/sd_notify.html).
struct ServiceManager: Sendable {
    /// A message to the service manager.
    enum Notification: Sendable, Equatable {
        /// The start takes longer, within the limit.
        case starting(atMost: Duration)
        /// The start is over: the server receives and keeps messages.
        case ready
        /// A line for `systemctl status`.
        case status(String)
        /// Stopping, within the limit.
        case stopping(atMost: Duration)
        /// A sign of life for the watchdog.
        case alive
    }

    /// How long a socket's name may be on Linux, without the final zero byte.
    private static let maximumNameByteCount = 107

    /// The time without a sign of life after which the service manager ends the server, or nil without a watchdog.
    let watchdogLimit: Duration?
    private let socketName: [UInt8]

    /// Creates the connection to the socket that the environment names, or nil if it names none.
    init?(_ environment: [String: String] = ProcessInfo.processInfo.environment, process: Int32 = getpid()) {
        guard let name = environment["NOTIFY_SOCKET"], name.hasPrefix("/") || name.hasPrefix("@"),
            name.utf8.count <= Self.maximumNameByteCount
        else { return nil }
        // An abstract name begins with a zero byte.
        socketName = (name.hasPrefix("@") ? [0] : [UInt8(ascii: "/")]) + name.utf8.dropFirst()
        // A process passes its variables to its children, so the id tells which process the watchdog watches.
        let isMeant = environment["WATCHDOG_PID"].map { $0 == String(process) } ?? true
        watchdogLimit = isMeant ? environment["WATCHDOG_USEC"].flatMap { Int64($0) }.flatMap { $0 > 0 ? .microseconds($0) : nil } : nil
    }

    /// Sends messages without blocking.
    ///
    /// - Returns: Whether the socket accepted them, or false if its queue is full.
    @discardableResult
    func notify(_ notifications: Notification...) -> Bool {
        notify(notifications)
    }

    /// Sends messages without blocking.
    ///
    /// - Returns: Whether the socket accepted them, or false if its queue is full.
    @discardableResult
    func notify(_ notifications: [Notification]) -> Bool {
        let text = notifications.map(Self.text).joined(separator: "\n")
        let descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        unsafe withUnsafeMutableBytes(of: &address.sun_path) { unsafe $0.copyBytes(from: socketName) }
        let byteCount = socklen_t(MemoryLayout<sa_family_t>.size + socketName.count)
        let sent = unsafe withUnsafePointer(to: address) { address in
            unsafe address.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                unsafe sendto(descriptor, text, text.utf8.count, Int32(MSG_DONTWAIT | MSG_NOSIGNAL), address, byteCount)
            }
        }
        return sent == text.utf8.count
    }

    private static func text(_ notification: Notification) -> String {
        switch notification {
        case .starting(let limit): "EXTEND_TIMEOUT_USEC=\(Int64(limit / .microseconds(1)))"
        case .ready: "READY=1"
        case .status(let line): "STATUS=" + line.split(whereSeparator: \.isNewline).joined(separator: " ")
        case .stopping(let limit): "STOPPING=1\nEXTEND_TIMEOUT_USEC=\(Int64(limit / .microseconds(1)))"
        case .alive: "WATCHDOG=1"
        }
    }
}
