/** Names of Web Bot Auth (draft-meunier-web-bot-auth-architecture). */

/** Path of the key directory of an agent. */
export const DIRECTORY_PATH = '/.well-known/http-message-signatures-directory'
export const DIRECTORY_TYPE = 'application/http-message-signatures-directory+json'
/** Tags of the signatures of requests and of directories. */
export const REQUEST_TAG = 'web-bot-auth'
export const DIRECTORY_TAG = 'http-message-signatures-directory'
/** Header that names the directory. */
export const AGENT_HEADER = 'signature-agent'
