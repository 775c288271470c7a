/** Statuses about a key or money, which callers of a service would take for the hub's own. */
export const HUB_STATUSES: ReadonlySet<number> = new Set([401, 402, 407])
