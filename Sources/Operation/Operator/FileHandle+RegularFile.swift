package import Foundation
import Platform

extension FileHandle {
    /// Opens a file that the operator has named.
    ///
    /// - Throws: ``Failure`` if it does not exist, cannot be read, or is no regular file.
    package convenience init(readingRegularFile path: String) throws(Failure) {
        do throws(RegularFileError) {
            self.init(fileDescriptor: try RegularFile.open(path), closeOnDealloc: true)
        } catch .inaccessible(ENOENT) {
            throw .configuration("\(path) does not exist.")
        } catch {
            throw .configuration("\(path): \(error).")
        }
    }
}
