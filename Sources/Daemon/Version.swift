/// Semantic version of the programs in this package.
package enum Version {
    package static let current = "0.1.0"
}
