import Foundation
package import ServerFiles

extension StatusSnapshot.Files {
    /// Reads how large a database and its write-ahead log are, and how much space their disk has left. Not available for PostgreSQL.
    package init(_ storage: DatabaseLocation) {
        self.init()
        guard case .sqlite(let path) = storage else { return }
        let files = FileManager.default
        func size(_ path: String) -> Int? { (try? files.attributesOfItem(atPath: path)[.size] as? NSNumber)?.intValue }
        databaseBytes = size(path)
        walBytes = size(path + "-wal")
        freeBytes = ((try? files.attributesOfFileSystem(forPath: path))?[.systemFreeSize] as? NSNumber)?.intValue
    }
}
