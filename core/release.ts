/** True in releases whose package `agenthub` on the npm registry is that of this project. */
const IS_PUBLISHED: boolean = false

/**
 * Command that starts the command line. An unpublished name is never installed by `npx`, because a
 * stranger who takes it would run code beside the keys of users.
 */
export const COMMAND_LINE = IS_PUBLISHED ? 'npx agenthub' : 'npx --no-install hub'
