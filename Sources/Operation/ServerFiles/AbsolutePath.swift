import Foundation

/// Makes paths absolute, so that a server's files stay the same even if the working directory changes.
package enum AbsolutePath {
    package static var workingDirectory: String { FileManager.default.currentDirectoryPath }

    /// Returns the path, which starts from the folder unless it is absolute. An empty path stays empty.
    package static func of(_ path: String, from folder: String) -> String {
        if path.isEmpty || path.hasPrefix("/") { return path }
        return folder.hasSuffix("/") ? folder + path : "\(folder)/\(path)"
    }
}
