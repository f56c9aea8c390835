import Glibc
import NIOCore
import ServiceLifecycle
import Settings

/// A service that listens, and that names the setting when it cannot.
struct ListeningService: Service {
    private let service: any Service
    private let setting: String
    private let address: ListenAddress

    init(_ service: any Service, setting: String, address: ListenAddress) {
        self.service = service
        self.setting = setting
        self.address = address
    }

    func run() async throws {
        do {
            try await service.run()
        } catch let error as IOError where [EADDRINUSE, EADDRNOTAVAIL, EACCES].contains(error.errnoCode) {
            let reason = unsafe String(cString: strerror(error.errnoCode))
            throw ListenError(
                description: "\(setting): cannot listen on \(address): \(reason)", isTemporary: error.errnoCode != EACCES)
        } catch is SocketAddressError.UnknownHost {
            throw ListenError(description: "\(setting): cannot listen on \(address): the host is unknown", isTemporary: false)
        }
    }
}

struct ListenError: Error, CustomStringConvertible {
    let description: String
    /// Whether the address may be free, or the interface up, at the next start.
    let isTemporary: Bool
}
