/// A value that holds a secret: a device token, an access token, a password, a plaintext. It prints as its type's name in logs, errors,
/// debuggers, and wherever a value that contains it is described.
package protocol HoldsSecret: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {}

extension HoldsSecret {
    package var description: String { "<\(Self.self)>" }
    package var debugDescription: String { description }
    package var customMirror: Mirror { Mirror(self, children: []) }
}
