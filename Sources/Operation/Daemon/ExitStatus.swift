import Platform
import SQLiteStore
import ServerFiles
import Settings
import Store

/// Exit codes as in INTERFACE.md, "Exit codes". The numbers are from sysexits.h.
package enum ExitStatus {
    private static let failed: Int32 = 1
    private static let unavailable: Int32 = 69
    /// systemd starts the server again.
    private static let temporary: Int32 = 75
    private static let configuration: Int32 = 78

    package static func code(for error: any Error) -> Int32 {
        switch error {
        case let error as any FileError where error.isTemporary: temporary
        case StoreError.inaccessible(let errno) where FileFault.isTemporary(errno): temporary
        case is SettingsError, is KeyFileError, is MissingKeyError, is InstanceLockError, is UnusableDatabaseError, is AdminTokenError,
            is ReadyFileError, is RegularFileError:
            configuration
        case let error as ListenError: error.isTemporary ? temporary : configuration
        case StoreError.locked, StoreError.nameTaken, StoreError.rowLocked, StoreError.ownersLocked, StoreError.wentBack: temporary
        // A full disk, or a PostgreSQL that is starting.
        case StoreError.unavailable: temporary
        case is LostDatabaseError: temporary
        case is ProbeError, is DrainError: unavailable
        case StoreError.unreachable: unavailable
        case let error as StoreError: error.isConfigurationFault ? configuration : failed
        default: failed
        }
    }
}
