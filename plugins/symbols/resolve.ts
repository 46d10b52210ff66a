export type Kept = any;
export type Graph = any;
export const openResolver: any = undefined;
export const graphOf: any = undefined;
