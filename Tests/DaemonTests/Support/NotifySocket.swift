import Foundation
import TestSupport

/// The socket of a service manager, and the messages that it received.
final class NotifySocket: Sendable {
    /// The value of `NOTIFY_SOCKET`.
    let name: String
    /// The folder with the socket's file. The file is deleted with it.
    private let folder: TemporaryFolder
    private let descriptor: Int32
    private let messages = Condition<[String]>([])

    /// - Parameter isAbstract: Whether the socket's name is abstract, without a file.
    init(in folder: TemporaryFolder, isAbstract: Bool = false) throws {
        self.folder = folder
        name = isAbstract ? "@pushserver-tests-\(UUID().uuidString)" : folder.path("notify")
        descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let bytes = Array(name.utf8)
        unsafe withUnsafeMutableBytes(of: &address.sun_path) { path in
            unsafe path.copyBytes(from: bytes)
            if isAbstract { unsafe path[0] = 0 }
        }
        let byteCount = socklen_t(MemoryLayout<sa_family_t>.size + bytes.count)
        let isBound = unsafe withUnsafePointer(to: address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { unsafe bind(descriptor, $0, byteCount) == 0 }
        }
        guard isBound else { throw POSIXError(.EADDRNOTAVAIL) }
        Thread.detachNewThread { [descriptor, messages] in
            var buffer = [UInt8](repeating: 0, count: 4_096)
            while true {
                let count = unsafe recv(descriptor, &buffer, buffer.count, 0)
                guard count > 0 else { break }
                let text = String(decoding: buffer[..<count], as: UTF8.self)
                messages.change { $0.append(text) }
            }
            close(descriptor)
        }
    }

    deinit { shutdown(descriptor, Int32(SHUT_RDWR)) }

    /// All messages so far, one for each datagram.
    var all: [String] { messages.value }

    func wait(for isWanted: @escaping @Sendable (String) -> Bool) async {
        await messages.wait { $0.contains(where: isWanted) }
    }

    /// Waits until a message has come so often.
    func wait(for message: String, count: Int) async {
        await messages.wait { $0.count { $0 == message } >= count }
    }

    func wait(count: Int) async {
        await messages.wait { $0.count >= count }
    }
}
