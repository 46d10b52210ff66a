export type Place = any; export type Service = any; export const openService: any = undefined;
