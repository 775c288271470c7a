// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.30;

/// The events of the identity registry of ERC-8004, for a local chain: anybody may register and update.
contract TestRegistry {
    event Registered(uint256 indexed agentId, string agentURI, address indexed owner);
    event URIUpdated(uint256 indexed agentId, string newURI, address indexed updatedBy);

    uint256 private count;

    function register(string calldata agentURI) external returns (uint256 agentId) {
        agentId = ++count;
        emit Registered(agentId, agentURI, msg.sender);
    }

    function setAgentURI(uint256 agentId, string calldata newURI) external {
        emit URIUpdated(agentId, newURI, msg.sender);
    }
}
