import Foundation

/// The user whom a tool becomes before it changes a server's files.
enum FolderOwner {
    /// Changes from root to the user who controls a file's folder, until the process exits. Such a user can put links into the folder, and
    /// root would follow them. Does nothing in a process that is not root's, or if only root controls the folder.
    ///
    /// A service with `DynamicUser` has its folder in `/var/lib/private`, which only root may enter. There the process stays root's, and
    /// the folder must not contain links. The service has stopped, and other processes of its user can't reach the folder.
    ///
    /// - Throws: ``Failure`` when the rights cannot be dropped, or when a folder that only root reaches contains a link.
    static func become(for path: String) throws(Failure) {
        guard geteuid() == 0, let owner = owner(of: path) else { return }
        guard owner.reachesFolder else { return try checkForLinks(from: owner.folder, to: path) }
        var group = owner.group
        guard unsafe setgroups(1, &group) == 0, setgid(group) == 0, setuid(owner.user) == 0 else {
            throw unsafe .failed("Cannot act as the owner of \(path)'s folder (user \(owner.user)): \(String(cString: strerror(errno)))")
        }
    }

    /// Runs `body` as that user, and then continues as root. In all other cases it behaves like ``become(for:)``.
    static func acting<Result>(for path: String, _ body: () async throws -> Result) async throws -> Result {
        guard geteuid() == 0, let owner = owner(of: path) else { return try await body() }
        guard owner.reachesFolder else {
            try checkForLinks(from: owner.folder, to: path)
            return try await body()
        }
        defer {
            seteuid(0)
            setegid(0)
        }
        guard setegid(owner.group) == 0, seteuid(owner.user) == 0 else {
            throw unsafe Failure.failed(
                "Cannot act as the owner of \(path)'s folder (user \(owner.user)): \(String(cString: strerror(errno)))")
        }
        return try await body()
    }

    /// Gives a file that root created to the user who controls its folder.
    static func give(_ path: String) throws(Failure) {
        guard geteuid() == 0, let owner = owner(of: path) else { return }
        guard unsafe lchown(path, owner.user, owner.group) == 0 else {
            throw unsafe .failed("\(path) cannot be given to user \(owner.user): \(String(cString: strerror(errno)))")
        }
    }

    private struct Owner {
        let user: uid_t
        let group: gid_t
        /// The topmost folder that belongs to the user, with a slash at its end.
        let folder: String

        /// Whether the user may enter every folder above.
        var reachesFolder: Bool {
            let path = URL(filePath: folder).resolvingSymlinksInPath().path(percentEncoded: false)
            return path.indices.dropLast().filter { path[$0] == "/" }.allSatisfy { slash in
                var above = stat()
                guard unsafe stat(String(path[...slash]), &above) == 0 else { return false }
                if above.st_uid == user { return above.st_mode & S_IXUSR != 0 }
                return above.st_mode & (above.st_gid == group ? S_IXGRP : S_IXOTH) != 0
            }
        }
    }

    /// Returns who owns the topmost folder on the path that is not root's, because this user controls everything below it.
    private static func owner(of path: String) -> Owner? {
        let path = URL(filePath: path).path(percentEncoded: false)
        for slash in path.indices where path[slash] == "/" {
            let prefix = String(path[...slash])
            var folder = stat()
            guard unsafe stat(prefix, &folder) == 0 else { return nil }
            if folder.st_uid != 0 { return Owner(user: folder.st_uid, group: folder.st_gid, folder: prefix) }
        }
        return nil
    }

    /// Checks the folders between the owner's folder and the file, and all files next to the file.
    private static func checkForLinks(from folder: String, to path: String) throws(Failure) {
        let path = URL(filePath: path).path(percentEncoded: false)
        let rest = path.dropFirst(folder.count)
        let folders = rest.indices.filter { rest[$0] == "/" }.map { String(path[..<$0]) }
        let fileFolder = URL(filePath: path).deletingLastPathComponent().path(percentEncoded: false)
        let files = (try? FileManager.default.contentsOfDirectory(atPath: fileFolder)) ?? []
        for candidate in folders + files.map({ fileFolder + "/" + $0 }) {
            var status = stat()
            guard unsafe lstat(candidate, &status) == 0 else { continue }
            let kind = status.st_mode & S_IFMT
            guard kind == S_IFDIR || kind == S_IFREG && status.st_nlink == 1 else {
                throw .configuration("\(candidate) is a link or no file, and root must not follow the links of others. Move it away.")
            }
        }
    }
}
