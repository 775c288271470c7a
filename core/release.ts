/** True in releases whose package `agenthub` on the npm registry is that of this project. */
const IS_PUBLISHED: boolean = false

/** Path of the package with the command line that a hub serves. */
export const packagePath = (version: string): string => `/downloads/agenthub-${version}.tgz`

/**
 * Command that starts the command line. An unpublished name is never installed by `npx`, because a
 * stranger who takes it would run code beside the keys of users: the hub serves its own package.
 */
export const commandLine = (baseUrl: string, version: string): string =>
  `npx ${IS_PUBLISHED ? 'agenthub' : `${baseUrl}${packagePath(version)}`}`
