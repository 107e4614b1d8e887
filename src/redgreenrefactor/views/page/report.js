"use strict";
const folds = () => document.querySelectorAll("main details");
const setAll = (open) => folds().forEach((one) => { one.open = open; });
document.querySelector(".buttons").hidden = false;
document.getElementById("unfold").addEventListener("click", () => setAll(true));
document.getElementById("fold").addEventListener("click", () => setAll(false));
let before = [];
addEventListener("beforeprint", () => { before = [...folds()].map((one) => one.open); setAll(true); });
addEventListener("afterprint", () => folds().forEach((one, at) => { one.open = before[at] ?? one.open; }));
