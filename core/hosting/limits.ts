/** Maximum size of a message between hub and plugin, in bytes. */
export const MESSAGE_MAX = 8 * 1_048_576
/** Maximum length of an error detail, in characters. */
export const DETAIL_MAX = 2_000
/** Maximum size of a stream chunk, in bytes. */
export const PIECE_MAX = 65_536
/** Maximum number of concurrent database connections of an isolated plugin. */
export const SESSIONS_MAX = 4
