import Glibc

/// The process's umask, which takes rights from the files that it creates.
package enum CreationMask {
    /// Leaves the owner all rights. Without them, the next start could not read the key file that this one has created.
    package static func grantOwner() {
        // The only way to read a umask is to set it.
        umask(umask(0o077) & 0o077)
    }
}
