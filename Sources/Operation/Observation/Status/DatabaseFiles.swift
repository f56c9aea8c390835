import Foundation
package import ServerFiles

extension StatusSnapshot.Files {
    /// Reads the sizes of a database and of its write-ahead log, and the free space of their disk. Not available for PostgreSQL.
    package init(_ storage: DatabaseLocation) {
        guard case .sqlite(let path) = storage else {
            self.init()
            return
        }
        let files = FileManager.default
        func size(_ path: String) -> Int? { (try? files.attributesOfItem(atPath: path)[.size] as? NSNumber)?.intValue }
        let free = (try? files.attributesOfFileSystem(forPath: path))?[.systemFreeSize] as? NSNumber
        self.init(databaseBytes: size(path), walBytes: size(path + "-wal"), freeBytes: free?.intValue)
    }
}
