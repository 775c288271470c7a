/** Variables of the process, which only configurations and the first start read. */
export const environment: Readonly<NodeJS.ProcessEnv> = process.env
