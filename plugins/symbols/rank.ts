export type Wish = any; export type RepoMap = any; export const mapOf: any = undefined;
