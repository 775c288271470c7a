// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.30;

/// A wallet that is a contract: what its owner signs is its signature (ERC-1271).
contract SmartWallet {
    address public immutable owner;

    constructor(address owner_) {
        owner = owner_;
    }

    function isValidSignature(bytes32 hash, bytes calldata signature) external view returns (bytes4) {
        // Longer than that of a key, as those of most such wallets: a word before the 65 bytes.
        if (signature.length != 97) return 0xffffffff;
        bytes32 r = bytes32(signature[32:64]);
        bytes32 s = bytes32(signature[64:96]);
        address signer = ecrecover(hash, uint8(signature[96]), r, s);
        return signer != address(0) && signer == owner ? bytes4(0x1626ba7e) : bytes4(0xffffffff);
    }
}

/// Puts wallets at addresses that are known before (CREATE2), for ERC-6492.
contract WalletFactory {
    function addressOf(address owner) public view returns (address) {
        bytes32 code = keccak256(abi.encodePacked(type(SmartWallet).creationCode, abi.encode(owner)));
        return address(uint160(uint256(keccak256(abi.encodePacked(bytes1(0xff), address(this), bytes32(0), code)))));
    }

    function make(address owner) external returns (address) {
        return address(new SmartWallet{salt: bytes32(0)}(owner));
    }
}
